import ContentHashing
import Foundation
import ObjectTransfer
import UbiquityContainers
import UbiquityTesting

/// A random run of devices whose users edit, delete and evict documents, whose bulletins come late and in any order, and whose
/// indices are lost.
///
/// The book is the real one; files and bulletins are values. What must hold: all devices show the same in the end, every edit
/// that nobody has superseded or deleted is shown or is a version in conflict, nothing that was deleted comes back, and no edit
/// is in conflict with one that it followed on the same device.
package struct DocumentRun {
    /// What has happened in runs.
    package struct Tally: Sendable {
        package var edits = 0, deletions = 0, conflicts = 0, evictions = 0, lostIndices = 0, wipes = 0, resolutions = 0, restorations = 0

        package init() {}

        package static func += (left: inout Self, right: Self) {
            left.edits += right.edits
            left.deletions += right.deletions
            left.conflicts += right.conflicts
            left.evictions += right.evictions
            left.lostIndices += right.lostIndices
            left.wipes += right.wipes
            left.resolutions += right.resolutions
            left.restorations += right.restorations
        }
    }

    /// What a device shows under a document's name.
    private enum Shown: Hashable {
        case item(String)
        case placeholder(String)
    }

    private struct Device {
        var identifier: TransferDevice
        var book = DocumentBook()
        var rules: DownloadRules
        var disk: [DocumentPath: Shown] = [:]
        /// The conflict copies, by document and name.
        var copies: [DocumentPath: [String: String]] = [:]
        /// How many bulletins of each device have been read.
        var read: [TransferDevice: Int] = [:]
        var isMarked = true
        /// What its user has deleted and its agent has not stated to be removed.
        var deleting: [DocumentPath: String] = [:]
        /// Changes a stamp whenever a file is written.
        var writes: UInt64 = 0
        var stamps: [DocumentPath: UInt64] = [:]
    }

    package struct Failure: Error, CustomStringConvertible {
        package var description: String
    }

    private let seed: UInt64
    private var random: SeededRandom
    private var devices: [Device]
    /// The bulletins of each device in their order, with one version each.
    private var news: [TransferDevice: [(path: DocumentPath, version: DocumentVersion)]] = [:]
    private let paths: [DocumentPath]
    /// The edits that nobody has superseded or deleted, with the document.
    private var living: [String: DocumentPath] = [:]
    /// The edits that a user has deleted, and those that one has kept when a conflict was resolved.
    private var deleted: Set<String> = [], kept: Set<String> = [], restored: Set<String> = []
    /// The edits on which each edit was made.
    private var followed: [String: Set<String>] = [:]
    private var count = 0
    /// Whether everything that is begun ends in the same pass.
    private var isCalm = false
    package private(set) var tally = Tally()
    package var tells: (String) -> Void = { _ in }

    package init(seed: UInt64) {
        self.seed = seed
        var random = SeededRandom(seed: seed)
        let number = Int.random(in: 2...4, using: &random)
        devices = (0..<number).map { index in
            let policy: DownloadRules =
                index > 0 && Bool.random(using: &random) ? DownloadRules(policies: ["org.example.notes": .onDemand]) : DownloadRules()
            return Device(identifier: TransferDevice(Self.identifier(&random)), rules: policy)
        }
        paths = (0..<3).map { DocumentPath("org.example.notes/Documents/\($0).txt")! }
        self.random = random
    }

    private static func identifier(_ random: inout SeededRandom) -> UUID {
        let (first, second) = (random.next(), random.next())
        return withUnsafeBytes(of: (first, second)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    private func content(_ text: String) -> DocumentContent {
        let digest = FileDigest(size: Int64(text.utf8.count), hash: ContentHash(of: Array(text.utf8)))
        return DocumentContent(isPackage: false, files: [.init(path: "", digest: digest, chunks: [digest])], modified: 0)
    }

    private var texts: [ContentHash: String] = [:]

    // MARK: The run

    /// Runs, lets everything settle, and checks.
    ///
    /// - Throws: ``Failure``.
    package mutating func run(operations: Int = 120) throws {
        for _ in 0..<operations { act() }
        try settle()
        try check()
    }

    private mutating func act() {
        let device = Int.random(in: 0..<devices.count, using: &random)
        let path = paths.randomElement(using: &random)!
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<22: edit(device, path)
        case 22..<27: delete(device, path)
        case 27..<32: evict(device, path)
        case 32..<36: want(device, path)
        case 36..<39: resolve(device, path)
        case 39..<40: loseIndex(device)
        case 40..<41: wipe(device)
        case 41..<44: restore(device, path)
        case 44..<70: readNews(device, all: false)
        default: pass(device)
        }
    }

    /// A user writes on top of what the device shows.
    private mutating func edit(_ device: Int, _ path: DocumentPath) {
        count += 1
        tally.edits += 1
        let text = "\(seed)-\(count)"
        texts[content(text).hash] = text
        switch devices[device].disk[path] {
        case .item(let old)?, .placeholder(let old)?:
            living[old] = nil
            followed[text] = (followed[old] ?? []).union([old])
        case nil: break
        }
        living[text] = path
        devices[device].deleting[path] = nil
        show(device, path, .item(text))
        tells("device \(device) writes \(text) to \(path.name)")
    }

    private mutating func delete(_ device: Int, _ path: DocumentPath) {
        // What nobody has looked at since the index was lost counts as late, and not as deleted.
        look(device)
        guard let shown = devices[device].disk[path], devices[device].book.records[path]?.isHere == true else { return }
        tally.deletions += 1
        switch shown {
        case .item(let text), .placeholder(let text):
            living[text] = nil
            devices[device].deleting[path] = text
        }
        devices[device].disk[path] = nil
        // Both looks happen before anything else; a device that sees it once only is the book's own test.
        for _ in 0..<2 { look(device) }
        tells("device \(device) deletes \(path.name)")
    }

    /// A user puts back what was deleted.
    private mutating func restore(_ device: Int, _ path: DocumentPath) {
        look(device)
        guard let record = devices[device].book.records[path], record.local == nil, record.live.isEmpty, record.isAbsent,
            devices[device].disk[path] == nil,
            let hash = record.versions.flatMap(\.replaced).first, let text = texts[hash]
        else { return }
        tally.restorations += 1
        living[text] = path
        kept.insert(text)
        restored.insert(text)
        show(device, path, .item(text))
        tells("device \(device) puts \(text) back to \(path.name)")
    }

    private mutating func evict(_ device: Int, _ path: DocumentPath) {
        look(device)
        guard let record = devices[device].book.records[path], record.isCurrent, record.untold == nil, record.intent == nil, record.lost.isEmpty,
            record.copies.isEmpty, case .item(let text)? = devices[device].disk[path]
        else { return }
        tally.evictions += 1
        show(device, path, .placeholder(text))
        devices[device].book.evicted(path)
        tells("device \(device) evicts \(path.name)")
    }

    private mutating func want(_ device: Int, _ path: DocumentPath) {
        guard case .placeholder? = devices[device].disk[path] else { return }
        devices[device].book.wants(path, true)
    }

    /// A user looks at all versions in conflict and keeps what is shown.
    private mutating func resolve(_ device: Int, _ path: DocumentPath) {
        guard let copies = devices[device].copies[path], !copies.isEmpty, case .item? = devices[device].disk[path] else { return }
        tally.resolutions += 1
        for text in copies.values { living[text] = nil }
        if case .item(let text)? = devices[device].disk[path] { kept.insert(text) }
        devices[device].copies[path] = nil
        tells("device \(device) resolves \(path.name): \(copies)")
    }

    private mutating func loseIndex(_ device: Int) {
        tally.lostIndices += 1
        devices[device].identifier = TransferDevice(Self.identifier(&random))
        // What was to be stated and is not on the disk any more is lost with the index.
        for (path, version) in devices[device].book.untold {
            guard let text = version.content.flatMap({ texts[$0.hash] }), devices[device].disk[path] != .item(text) else { continue }
            living[text] = nil
        }
        (devices[device].book, devices[device].read, devices[device].deleting) = (DocumentBook(), [:], [:])
        // Copies that nobody remembers are ordinary files, which stay.
        for (path, copies) in devices[device].copies { for text in copies.values where living[text] != nil { living[text] = path } }
        tells("device \(device) loses its index")
        // What was here and not stated is of unknown descent, and what was put back looks like what was there before.
        for case .item(let text) in devices[device].disk.values {
            followed[text] = nil
            if restored.contains(text) { living[text] = nil }
        }
        if Bool.random(using: &random) { look(device) }
        readNews(device, all: true)
        look(device)
    }

    /// The container goes with its mark, and comes back empty.
    private mutating func wipe(_ device: Int) {
        look(device)
        tally.wipes += 1
        // What nobody else has heard of is lost with the disk.
        for (path, shown) in devices[device].disk {
            guard case .item(let text) = shown, let record = devices[device].book.records[path] else { continue }
            if record.local?.isEdited != false { living[text] = nil }
        }
        (devices[device].disk, devices[device].copies, devices[device].isMarked) = ([:], [:], false)
        look(device)
        devices[device].isMarked = true
        tells("device \(device) is wiped")
    }

    // MARK: An agent

    private mutating func show(_ device: Int, _ path: DocumentPath, _ shown: Shown) {
        devices[device].writes += 1
        devices[device].disk[path] = shown
        devices[device].stamps[path] = devices[device].writes
    }

    private mutating func look(_ index: Int) {
        var device = devices[index]
        let gone = device.book.records.compactMap { $0.value.isHere && device.disk[$0.key] == nil ? $0.key : nil }
        let isMarked = device.isMarked
        device.book.missed(gone, isWhole: true) { _ in isMarked }
        if isMarked { device.book.absent(device.book.records.keys.filter { device.disk[$0] == nil }) }
        for (path, shown) in device.disk {
            switch shown {
            case .item(let text): device.book.found(path, content(text), .item(DocumentStamp(value: device.stamps[path] ?? 0)))
            case .placeholder(let text):
                if device.book.records[path]?.versions.contains(where: { $0.content == content(text) }) == true
                    || device.book.records[path]?.local?.content == content(text)
                {
                    device.book.found(path, content(text), .placeholder)
                } else if let versions = device.book.records[path]?.versions, !versions.isEmpty, versions.allSatisfy({ $0.content == nil }),
                    versions.contains(where: { $0.replaced.contains(content(text).hash) })
                {
                    device.disk[path] = nil
                }
            }
        }
        for (path, record) in device.book.records where !record.copies.isEmpty {
            device.book.resolved(path, Set(record.copies.keys.filter { device.copies[path]?[$0] == nil }))
        }
        devices[index] = device
    }

    /// Reads bulletins of other devices, each device's in their order.
    private mutating func readNews(_ index: Int, all: Bool) {
        for author in news.keys.sorted() {
            let bulletins = news[author]!
            var next = devices[index].read[author] ?? 0
            while next < bulletins.count, all || Int.random(in: 0..<3, using: &random) > 0 {
                devices[index].book.take(
                    bulletins[next].path, bulletins[next].version, own: devices[index].identifier, now: Date(timeIntervalSince1970: 0))
                next += 1
            }
            devices[index].read[author] = next
        }
    }

    /// States a version, at once or in a later pass.
    private mutating func publish(_ index: Int, _ path: DocumentPath, _ version: DocumentVersion) {
        if !isCalm, Int.random(in: 0..<4, using: &random) == 0 { return }
        // A removal that is lost with the index was never stated.
        if version.content == nil, let text = devices[index].deleting.removeValue(forKey: path) { deleted.insert(text) }
        let own = devices[index].identifier
        news[own, default: []].append((path, version))
        devices[index].book.told(path, version, now: Date(timeIntervalSince1970: 0))
        devices[index].book.take(path, version, own: own, now: Date(timeIntervalSince1970: 0))
        devices[index].read[own] = news[own]!.count
    }

    private mutating func pass(_ index: Int) {
        look(index)
        for (path, version) in devices[index].book.untold.sorted(by: { $0.key < $1.key }) { publish(index, path, version) }
        for path in paths {
            for step in devices[index].book.steps(path, of: devices[index].identifier, devices[index].rules) {
                tells("device \(index) \(path.name): \(step)")
                switch step {
                case .send(let version):
                    // The version that ends a conflict keeps what is shown.
                    if let text = texts[version.content!.hash], devices[index].book.records[path]?.local?.isEdited == false { kept.insert(text) }
                    // A crash in between leaves the intent.
                    devices[index].book.intends(path, version)
                    if !isCalm, Int.random(in: 0..<10, using: &random) == 0 { return }
                    devices[index].book.uploaded(path, version)
                    publish(index, path, version)
                case .withdraw(let version):
                    devices[index].book.withdraws(path, version)
                    publish(index, path, version)
                case .fetch(let version):
                    devices[index].book.expects(path)
                    let record = devices[index].book.records[path]!
                    if record.isItemHere, record.local?.isEdited == true { continue }
                    // What was here has lost a conflict, and stays beside it.
                    if record.isItemHere, let own = record.local?.content,
                        let lost = record.lost.first(where: { $0.content?.isSame(as: own) == true })
                    {
                        addCopy(index, path, lost)
                    }
                    let text = texts[version.content!.hash]!
                    show(index, path, .item(text))
                    devices[index].book.placed(path, version, DocumentStamp(value: devices[index].writes))
                case .hold(let version):
                    devices[index].book.expects(path)
                    show(index, path, .placeholder(texts[version.content!.hash]!))
                    devices[index].book.found(path, version.content!, .placeholder)
                case .fetchCopy(let version): addCopy(index, path, version)
                case .dropCopy(let name, _):
                    devices[index].copies[path]?[name] = nil
                    devices[index].book.droppedCopy(path, name)
                case .remove:
                    devices[index].disk[path] = nil
                    devices[index].book.removed(path)
                }
            }
        }
    }

    private mutating func addCopy(_ index: Int, _ path: DocumentPath, _ version: DocumentVersion) {
        tally.conflicts += 1
        let name = "copy of \(version.content!.hash)"
        devices[index].copies[path, default: [:]][name] = texts[version.content!.hash]!
        devices[index].book.copied(path, name, version)
    }

    // MARK: The end

    private mutating func settle() throws {
        isCalm = true
        for _ in 0..<30 {
            let before = devices.map(\.book.generation)
            for index in devices.indices {
                readNews(index, all: true)
                pass(index)
                pass(index)
            }
            if devices.map(\.book.generation) == before, devices.allSatisfy({ $0.book.untold.isEmpty }) { return }
        }
        throw Failure(description: "seed \(seed): the devices do not come to rest")
    }

    private func check() throws {
        for path in paths {
            let versions = devices.map { Set($0.book.records[path]?.versions ?? []) }
            guard Set(versions).count == 1 else { throw Failure(description: "seed \(seed): \(path.name) has other versions on different devices") }
            let record = devices[0].book.records[path]
            let shown = record?.shown?.content.flatMap { texts[$0.hash] }
            for (index, device) in devices.enumerated() {
                let seen: String? =
                    switch device.disk[path] {
                    case .item(let text)?, .placeholder(let text)?: text
                    case nil: nil
                    }
                guard seen == shown else {
                    throw Failure(
                        description:
                            "seed \(seed): device \(index) shows \(seen ?? "nothing") under \(path.name), and the versions \(shown ?? "nothing")")
                }
            }
            let all = Set(record?.live.compactMap { $0.content.flatMap { texts[$0.hash] } } ?? [])
            let stale = Set(record?.lost.compactMap { $0.content.flatMap { texts[$0.hash] } } ?? []).intersection(
                shown.flatMap { followed[$0] } ?? []
            )
            .subtracting(kept)
            guard stale.isEmpty else { throw Failure(description: "seed \(seed): \(stale) of \(path.name) are in conflict with what followed them") }
            // An edit of bytes that somebody else has put back meanwhile follows them.
            let replaced = restored.intersection(all.flatMap { followed[$0] ?? [] })
            let missing = living.filter { $0.value == path && !all.contains($0.key) && !replaced.contains($0.key) }.keys.sorted()
            // A version that ends a conflict is an edit, which beats a deletion that did not know it.
            let back = all.intersection(deleted).subtracting(kept).sorted()
            guard back.isEmpty else { throw Failure(description: "seed \(seed): \(back) of \(path.name) were deleted and are back") }
            guard missing.isEmpty else { throw Failure(description: "seed \(seed): the edits \(missing) of \(path.name) are in no version") }
        }
    }
}
