internal import ContentHashing
internal import Foundation
internal import ObjectTransfer
internal import UbiquityContainers
internal import UbiquityKeyValues
internal import UbiquityStores

/// The decoders of foreign bytes: each must reject invalid bytes with an error, never with a trap, and accept only
/// meaningful ones.
package enum FuzzDecoder: String, CaseIterable, Sendable {
    /// Log files: header, body, changes.
    case log
    /// Receipts.
    case receipt
    /// Names and contents of marks, and the names of files in a content.
    case mark
    /// Wire values, stamps, and the order of values.
    case wire
    /// Signed files: the envelope, and policies, account statements, enrolments, admittances and warrants in it.
    case statement
    /// Bundles and lists of deaths of public places; heads are signed files, as statements are.
    case bundle
    /// Bulletins of a cloud, the identifier of a remote, and the paths and names in both.
    case news
    /// Values of a key-value store, as property lists.
    case value
    /// Baselines, and the effects of joining them on a store.
    case baseline

    /// Decodes bytes, and traps if a decoder accepts invalid ones.
    ///
    /// - Parameter bytes: any bytes.
    package func read(_ bytes: [UInt8]) {
        switch self {
        case .log: Self.readLog(bytes)
        case .receipt: Self.readReceipt(bytes)
        case .mark: Self.readMark(bytes)
        case .wire: Self.readWire(bytes)
        case .statement: Self.readStatement(bytes)
        case .bundle: Self.readBundle(bytes)
        case .news: Self.readNews(bytes)
        case .value: Self.readValue(bytes)
        case .baseline: BaselineStores.read(bytes)
        }
    }

    private static func readBundle(_ bytes: [UInt8]) {
        if let deaths = try? DeathList(decoding: bytes) { precondition(deaths.encoded == bytes, "deaths are not read as they were written") }
        var decoder = BundleDecoder()
        decoder.feed(bytes)
        while let entry = try? decoder.next() {
            var (writer, again) = (WireWriter(), BundleDecoder())
            entry.write(to: &writer)
            again.feed(writer.bytes)
            precondition((try? again.next()) == entry && again.isAtEnd, "an entry is not read as it was written")
        }
    }

    private static func readValue(_ bytes: [UInt8]) {
        guard let value = try? KeyValue(decoding: Data(bytes)) else { return }
        let again = value.encoded
        precondition((try? KeyValue(decoding: again))?.encoded == again, "a value is not read as it was written")
    }

    private static func readNews(_ bytes: [UInt8]) {
        if let canary = try? Canary(decoding: bytes) { precondition((try? Canary(decoding: canary.encoded)) == canary) }
        let text = String(decoding: bytes, as: UTF8.self)
        if let name = BulletinName(text) { precondition(name.description == text, "a bulletin's name has one spelling") }
        if let path = TransferPath(text, of: transferAccount) {
            precondition(
                path.description == text && !text.hasPrefix("/") && !text.split(separator: "/").contains(".."), "a path that leads elsewhere")
        }
        if let placeholder = Placeholder(decoding: bytes, named: ".Letter.txt.ubiquity.nosync") { precondition(placeholder.name == "Letter.txt") }
        let name = Bulletin.name(transferDevice, 1, bytes)
        guard let bulletin = try? Bulletin(decoding: bytes, named: name, of: transferAccount) else { return }
        let again = bulletin.encoded
        precondition(
            (try? Bulletin(decoding: again, named: Bulletin.name(transferDevice, 1, again), of: transferAccount)) == bulletin,
            "a bulletin is not read as it was written")
        var book = TransferBook(account: transferAccount, device: TransferDevice("00000000-0000-4000-8000-000000000002")!)
        book.take(bulletin, name, now: Date())
        _ = book.plan(TransferSituation(peers: [peer]))
        for (path, record) in book.documents.records {
            precondition(!path.description.hasPrefix("/") && !path.description.split(separator: "/").contains(".."), "a path that leads elsewhere")
            for content in record.versions.compactMap(\.content) { precondition(content.chunks.allSatisfy { $0.size > 0 }) }
            _ = book.documents.steps(path, of: transferDevice, DownloadRules())
        }
    }

    static let peer = PeerIdentifier("alice~0785bf93-b82f-4b53-9fa1-b45b2ee096c3")!
    static let transferAccount = try! AccountName("alice")
    static let transferDevice = TransferDevice("00000000-0000-4000-8000-000000000001")!

    private static func readLog(_ bytes: [UInt8]) {
        guard let log = try? LogFile(decoding: bytes) else { return }
        // The known parts of a header survive another encoding.
        let again = try? LogFile(decoding: LogFile.encode(log.header, body: Array(log.body)) + (log.signature?.bytes ?? []))
        precondition((log.header.rights == nil) == (log.signature == nil), "a log has rights and a signature, or neither")
        precondition(again?.header.rights == log.header.rights && again?.signature == log.signature, "a signature is not read as it was written")
        precondition(again?.body == log.body, "a log is not read as it was written")
        precondition(again?.header.news == log.header.news && again?.header.peer == log.header.peer, "a header is not read as it was written")
        precondition(again?.header.sequence == log.header.sequence && again?.header.predecessor == log.header.predecessor)
        guard let contents = try? LogBody.decode(log) else { return }
        for group in contents.groups {
            _ = group.time.isPlausible(after: .least)
            for rows in group.rows {
                let table = contents.tables[rows.table]
                try? rows.forEach(in: table) { change in
                    precondition(change.life > 0 && change.key.count == table.keyColumns.count && !change.key.contains(.null))
                    precondition(change.values.count == change.columns.count)
                    change.columns.forEach { precondition($0 < table.columns.count, "a column that the table does not have") }
                }
            }
        }
    }

    private static func readStatement(_ bytes: [UInt8]) {
        guard let envelope = try? Envelope(decoding: bytes) else { return }
        precondition(!envelope.isGenuine(in: ScopeIdentifier(envelope.hash)), "a signature is valid for a container that nobody signed for")
        switch envelope.kind {
        case .policy: readAgain(Policy.self, envelope)
        case .account: readAgain(AccountStatement.self, envelope)
        case .enrolment: readAgain(Enrolment.self, envelope)
        case .admittance: readAgain(Admittance.self, envelope)
        case .baseline: readAgain(BaselineWarrant.self, envelope)
        case .head: readAgain(PublishedHead.self, envelope)
        case .receipt: break
        }
    }

    private static func readAgain<Value: SignedPayload>(_ type: Value.Type, _ envelope: Envelope) {
        guard let signed = try? Signed<Value>(of: envelope) else { return }
        let value = signed.value
        precondition((try? Value(fieldsOf: value.encoded()[...]).named(by: signed.id)) == value, "a statement is not read as it was written")
    }

    private static func readReceipt(_ bytes: [UInt8]) {
        guard let receipt = Receipt(decoding: bytes) else { return }
        for entry in receipt.stated.entries { precondition(entry.position.sequence > 0) }
        if let written = try? receipt.encoded() {
            precondition(Receipt(decoding: written)?.stated == receipt.stated, "a receipt is not read as it was written")
        }
    }

    private static func readMark(_ bytes: [UInt8]) {
        _ = try? JSONDecoder().decode(AttachmentMark.self, from: Data(bytes))
        let name = String(decoding: bytes, as: UTF8.self)
        _ = ForeignNames.matches(name)
        if let peer = PeerIdentifier(name) { precondition(peer.description == name, "a peer's name has one spelling") }
        if let log = LogFileName(name) { precondition(log.description == name, "a log's name has one spelling") }
        if let number = Receipt.number(ofFile: name) { precondition(String(number) == name, "a receipt's name has one spelling") }
        if let epoch = ContentLayout.epoch(ofMark: name) { precondition(epoch > 0 && name.hasPrefix("\(epoch).")) }
    }

    private static func readWire(_ bytes: [UInt8]) {
        var reader = WireReader(bytes[...])
        var values: [RecordValue] = []
        while !reader.isAtEnd, let value = try? reader.recordValue() { values.append(value) }
        var writer = WireWriter()
        for value in values { writer.recordValue(value) }
        var again = WireReader(writer.bytes[...])
        for value in values { precondition((try? again.recordValue()) == value, "a value is not read as it was written") }
        checkOrder(values.prefix(6))
        readFields(bytes[...], depth: 0)
        if let others = bytes.withUnsafeBytes({ RecordClock.unpack($0) }), !others.isEmpty {
            var clock = RecordClock(life: 1, stamp: .least, columns: [])
            clock.others = others
            precondition(clock.packedOthers.map { $0 == bytes } ?? false, "stamps are not read as they were written")
        }
    }

    /// Checks that values have one order, independent of the direction of the comparison, and that equal values have
    /// equal types and bytes.
    private static func checkOrder(_ values: ArraySlice<RecordValue>) {
        for left in values {
            for right in values {
                let order = left.compare(right)
                precondition((order == .equal) == (left == right), "\(left) and \(right) are equal in one way only")
                precondition((order == .less) == (right.compare(left) == .greater), "\(left) and \(right) have two orders")
                for third in values where order != .greater && right.compare(third) != .greater {
                    precondition(left.compare(third) != .greater, "\(left), \(right) and \(third) go in a circle")
                }
            }
        }
    }

    private static func readFields(_ bytes: ArraySlice<UInt8>, depth: Int) {
        var reader = WireReader(bytes)
        while let (_, value) = try? reader.nextField() {
            _ = try? value.number
            _ = try? value.string
            if depth < 4, let data = try? value.data { readFields(data, depth: depth + 1) }
        }
    }
}
