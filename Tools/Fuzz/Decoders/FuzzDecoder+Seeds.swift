internal import ContentHashing
internal import Foundation
internal import ObjectTransfer
internal import UbiquityContainers
internal import UbiquityKeyValues
internal import UbiquityStores

extension FuzzDecoder {
    private static let hash = ContentHash(of: [1])

    /// Valid examples to start from.
    package var seeds: [[UInt8]] {
        switch self {
        case .log:
            [
                Self.sampleLog(sequence: 1, news: Knowledge()), Self.sampleLog(sequence: 7, news: Self.knowledge),
                Self.sampleLog(sequence: 7, news: Knowledge(), rights: Self.rights) + Self.key.signature(for: []).bytes,
            ]
        case .receipt:
            [
                try? Receipt(peer: Self.peer, epoch: 1, knowledge: Self.knowledge, migrations: ["v1"], time: Date(timeIntervalSince1970: 1e9))
                    .encoded()
            ].compactMap { $0 }
        case .mark:
            [
                "\(Self.peer)", "1.\(Self.peer)", LogFileName(sequence: 3, hash: Self.hash).description, "12", ".syncthing.a.tmp",
                "{\"attached\":\"2026-11-21T10:00:00Z\",\"device\":\"d\",\"format\":1,\"peer\":\"\(Self.peer)\"}",
            ].map { Array($0.utf8) }
        case .wire: [Self.sampleValues, Array(repeating: 7, count: 34)]
        case .statement: Self.sampleStatements
        case .bundle: [Self.sampleBundle, Self.sampleDeaths]
        case .news: Self.sampleNews
        case .value:
            [
                KeyValue.dictionary(["a": .array([.integer(1), .integer(-70000), .real(0.5), .boolean(true)]), "ö": .string("text")]),
                .data(Data(repeating: 7, count: 20)), .date(Date(timeIntervalSinceReferenceDate: 1)), .string(String(repeating: "x", count: 300)),
            ].map { Array($0.encoded) }
        case .baseline: BaselineStores.seeds + BaselineScript.seeds
        }
    }

    private static let key = PrivateKey(bytes: Array(1...32))!
    private static let container = ScopeIdentifier(ContentHash(of: [2]))
    private static let someID = StatementIdentifier(ContentHash(of: [3]))
    private static let account = AccountIdentifier(ContentHash(of: [4]))
    private static let rights = LogRights(container: container, policy: someID, certificate: someID)

    private static var sampleNews: [[UInt8]] {
        var bulletin = Bulletin(device: transferDevice, number: 1, previous: hash)
        bulletin.peers = [peer]
        let content = "org.example.notes/CoreData/Notes"
        let paths = [
            "\(content)/\(peer)/1/1.ublog", "\(content)/\(peer)/1/values/ab", "\(content)/epochs/2.\(peer)", "org.example.notes/.ubiquity/\(peer)",
        ]
        for path in paths.dropLast() { bulletin.uploaded[TransferPath(path, of: transferAccount)!] = FileDigest(size: 1, hash: hash) }
        bulletin.removed = [TransferPath(paths[3], of: transferAccount)!]
        var inventory = bulletin
        inventory.isInventory = true
        return [
            bulletin.encoded, inventory.encoded, Canary().encoded,
            Array(BulletinName(device: transferDevice, number: 1, hash: hash).description.utf8),
        ]
            + paths.map { Array($0.utf8) }
    }

    private static var sampleBundle: [UInt8] {
        var writer = WireWriter()
        let base = BaselineID(peer: peer, name: BaselineName(sequence: 2, hash: hash))
        for content in [
            BundleEntry.Content.base(base, size: 4096), .statement([1, 2, 3]), .value(hash, size: 17),
            .log(peer, LogFileName(sequence: 3, hash: hash), [4, 5, 6]),
        ] { BundleEntry(head: 29, content).write(to: &writer) }
        return writer.bytes
    }

    private static var sampleDeaths: [UInt8] {
        var list = DeathList()
        for number in 1...3 { list.lives[.init(of: [.integer(Int64(number))])] = 2 }
        return list.encoded
    }

    private static var sampleHead: [UInt8] {
        let file = PublishedFile(hash: hash, size: 4096)
        var head = PublishedHead(
            number: 17, predecessor: someID, publisher: peer, certificate: someID, policy: someID, contentName: "Game", epoch: 1,
            made: 1_700_000_000_000, expires: 1_700_600_000_000, authority: .init(written: 3, file: file))
        head.snapshot = 2
        for range in head.ranges.suffix(3) { head.bundles[.table("score"), default: [:]][range] = file }
        var table = PublishedHead.Table()
        table.parts = ["": .init(written: 2, records: file, deaths: file)]
        head.tables = ["score": table]
        return head.signed(with: key, in: container)
    }

    private static var sampleStatements: [[UInt8]] {
        let base = BaselineID(peer: peer, name: BaselineName(sequence: 2, hash: hash))
        var policy = Policy(version: 3, predecessor: someID, owner: account, steward: key.publicKey, stewardPeer: peer)
        policy.term = 1
        policy.merges = [someID, StatementIdentifier(hash)]
        policy.heirs = [key.publicKey]
        policy.access = ["score": .creator("player"), "template": .role("editor")]
        policy.roles = ["editor": [account]]
        policy.pins = [account: someID]
        policy.cuts = [.init(account: account, before: 2, sparing: [key.publicKey])]
        policy.base = base
        policy.admission = .registrars([key.publicKey])
        let devices = [peer: key.publicKey]
        return [
            policy.signed(with: key, in: container),
            AccountStatement(account: nil, version: 1, predecessor: nil, identity: key.publicKey, devices: devices)
                .signed(with: key, in: container),
            AccountStatement(account: account, version: 2, predecessor: someID, identity: key.publicKey, devices: devices, base: base)
                .signed(with: key, in: container),
            Enrolment(account: account, statement: someID, sponsor: peer, certificate: someID, device: peer, key: key.publicKey)
                .signed(with: key, in: container),
            Admittance(account: account, policy: someID).signed(with: key, in: container), sampleHead,
            BaselineWarrant(domain: .slice(account), baseline: base, statement: someID, certificate: someID, knowledge: knowledge)
                .signed(with: key, in: container),
            BaselineWarrant(domain: .roles, baseline: base, statement: someID, certificate: nil, knowledge: Knowledge())
                .signed(with: key, in: container),
        ]
    }

    private static let knowledge = Knowledge([
        PeerIdentifier("alice~1fac08f1-c2e6-4047-92c5-93ca8ffd2ed6")!: .init(sequence: 3, hash: hash)
    ])

    private static let values: [RecordValue] = [
        .integer(.min), .integer(9_007_199_254_740_993), .real(9_007_199_254_740_992.0.bitPattern), .text("x"), .blob([0, 1]), .null,
    ]

    private static var sampleValues: [UInt8] {
        var writer = WireWriter()
        for value in values { writer.recordValue(value) }
        return writer.bytes
    }

    private static func sampleLog(sequence: Int64, news: Knowledge, rights: LogRights? = nil) -> [UInt8] {
        let table = LogBody.Table(name: "note", keyColumns: ["id"], columns: values.indices.map { "c\($0)" })
        var rows = WireWriter()
        rows.varint(1)
        rows.recordValue(.text("k"))
        rows.varint(UInt64(1 << values.count) - 1)
        for value in values { rows.recordValue(value) }
        rows.varint(2)
        rows.recordValue(.integer(-5))
        var body = LogBodyBuilder()
        body.add(table, count: 2, rows: rows)
        body.add(table, SameAs(RecordNode(key: [.text("k")], life: 1), RecordNode(key: [.integer(-5)], life: 3)))
        var header = LogHeader(
            peer: peer, contentName: "Notes", epoch: 1, sequence: sequence, predecessor: sequence > 1 ? hash : nil, news: news, schema: "v1",
            created: Date(timeIntervalSince1970: 1e9), saves: 1, changes: 2)
        header.rights = rights
        return LogFile.encode(header, body: body.encoded(time: HybridTime(milliseconds: 1_800_000_000_000)))
    }
}
