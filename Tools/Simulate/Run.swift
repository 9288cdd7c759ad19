import Foundation
import GRDB
import SystemPackage
import UbiquityContainers
import UbiquityStores
import UbiquityTesting

/// The devices of a run and their stores.
struct Run {
    private var devices: [SimulatedDevice]
    private(set) var stores: [UbiquitousStore]
    private var synchroniser: FaultySynchroniser
    /// The peers that are away.
    private var away: Set<Int> = []
    /// The lost peers.
    private var dead: Set<Int> = []
    /// Whether logs have been damaged.
    private(set) var hasDamage = false
    /// The lost values that deleted store files had listed: each peer lists the conflicts that it has seen.
    private var listed: Set<LostValue> = []
    /// The last known identifier of each peer.
    private var identifiers: [Int: PeerIdentifier] = [:]
    /// The version of each peer's schema.
    private(set) var versions: [Int]
    let schema: SimulatedSchema
    /// The greatest number of peers, because clones and new devices only take more time.
    private let limit: Int
    /// Copies of containers, each with its incomplete files.
    private var copies: [Int: (directory: FilePath, partial: Set<String>)] = [:]
    private let seed: UInt64
    private let directory: FilePath
    /// The directory of trimmed logs.
    private let trimmed: FilePath
    private let baselines: BaselinePolicy
    private let silenceLimit: Duration?

    init(seed: UInt64, peers: Int, schema: SimulatedSchema, directory: FilePath) async throws {
        (self.seed, self.schema, self.directory) = (seed, schema, directory)
        devices = try (0..<peers).map { try SimulatedDevice("device\($0)", in: directory, seed: seed) }
        synchroniser = FaultySynchroniser(devices, seed: seed)
        limit = peers + 2
        trimmed = directory.appending("trimmed")
        try FileManager.default.createDirectory(atPath: trimmed.string, withIntermediateDirectories: true)
        // This is often enough that logs are trimmed within a run.
        baselines = BaselinePolicy(logs: 5 + Int(seed % 16))
        silenceLimit = seed.isMultiple(of: 3) ? .seconds(30 * 86_400) : nil
        stores = []
        // Otherwise an upgrade would take as long as a whole run.
        let first = seed.isMultiple(of: 5) ? 1 : schema.versions
        versions = devices.indices.map { schema.isModelled ? first : 1 + $0 % schema.versions }
        for (device, version) in zip(devices, versions) { stores.append(try await open(device, version: version)) }
    }

    func open(_ device: SimulatedDevice, version: Int) async throws -> UbiquitousStore {
        device.faults.keepRemoved(in: trimmed)
        // Clocks jump by years, so lost values are kept without limit.
        return try await device.openStore(
            schema: schema.synced(version: version), conflictRetention: ConflictRetention(count: 1_000_000, days: 1_000_000),
            baselines: baselines, silenceLimit: silenceLimit)
    }

    mutating func perform(_ operation: Operation) async throws {
        let peer = operation.peer
        guard stores.indices.contains(peer) else { return }
        if case .turnAway = operation {
            if away.remove(peer) == nil { away.insert(peer) }
            return
        }
        guard !away.contains(peer), !dead.contains(peer) else { return }
        do {
            try await carryOut(operation)
        } catch let error as UbiquitousStoreError where error.code == .suspended {
            // The container was replaced with an older one, in which the peer has no mark.
        }
    }

    private mutating func carryOut(_ operation: Operation) async throws {
        let peer = operation.peer
        let store = stores[peer]
        switch operation {
        case .save(_, let writes):
            do {
                try await store.write { db in for write in writes { try write.perform(db) } }
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                // A deferred reference failed, so there was no save.
            }
        case .foreignWrite(_, let writes):
            // Like the shell, which enforces no foreign keys.
            var configuration = Configuration()
            configuration.foreignKeysEnabled = false
            let other = try DatabaseQueue(path: store.file.string, configuration: configuration)
            try await other.write { db in for write in writes { try write.perform(db) } }
            try other.close()
        case .settle: try await store.settled()
        case .publish: try await store.publish()
        case .roll: try await store.rollBaseline()
        case .retire(_, let other, let sequence):
            guard stores.indices.contains(other) else { return }
            if !dead.contains(other) { identifiers[other] = try await stores[other].status().peer }
            guard let identifier = identifiers[other] else { return }
            do {
                try await store.retire(identifier, at: sequence)
            } catch let error as UbiquitousStoreError where error.code == .unsupported {
                // The peer has not heard of it yet.
            }
        case .damage(_, let seed): try damage(peer, seed)
        case .die:
            guard living.count > 2 else { return }
            identifiers[peer] = try await store.status().peer
            listed.formUnion(try await conflicts(of: store))
            try await store.close()
            dead.insert(peer)
            synchroniser.disconnect(peer)
        case .removeContent: try await store.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: "Store"))
        case .rebuild:
            do {
                try await store.rebuildFromUbiquitousContent()
            } catch let error as UbiquitousStoreError where error.code == .contentIncomplete {
                // Its content has not arrived completely, or never will: in that case no other device can read it there
                // either.
                if try await isReadable(by: peer) { throw SimulationFault(description: "a newcomer reads what a rebuild refuses: \(error)") }
            }
        case .deliver(_, let target, let count):
            guard stores.indices.contains(target), !away.contains(target), !dead.contains(target) else { return }
            try synchroniser.deliver(from: peer, to: target, count: count)
        case .advance(_, let seconds): devices[peer].clock.advance(by: Double(seconds))
        case .reopen:
            try await store.close()
            stores[peer] = try await open(devices[peer], version: versions[peer])
        case .upgrade: try await upgrade(peer)
        case .seed: try await store.seed(from: schema.seed, token: "seed")
        case .loseFile:
            // Unpublished data is lost with the file, and no device can restore it.
            try await store.publish()
            listed.formUnion(try await conflicts(of: store))
            try await store.close()
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.file.string + suffix) }
            stores[peer] = try await open(devices[peer], version: versions[peer])
        case .crash(_, let count):
            devices[peer].faults.arm(after: count)
            // It fails, or there were fewer changes.
            try? await store.settled()
            devices[peer].faults.disarm()
            try await devices[peer].crash(store)
            stores[peer] = try await open(devices[peer], version: versions[peer])
        case .turnAway: break
        case .backUp: try devices[peer].backUp(store)
        case .restore:
            try await store.publish()
            listed.formUnion(try await conflicts(of: store))
            try await store.close()
            // A copy from before an upgrade is upgraded again.
            _ = try devices[peer].restore(store.file)
            stores[peer] = try await open(devices[peer], version: versions[peer])
        case .clone:
            guard devices.count < limit else { return }
            try await store.close()
            let clone = try devices[peer].cloned("device\(devices.count)", clock: ManualClock(devices[peer].clock.now))
            stores[peer] = try await open(devices[peer], version: versions[peer])
            devices.append(clone)
            synchroniser.connect(clone, copyOf: peer)
            versions.append(versions[peer])
            stores.append(try await open(clone, version: versions[peer]))
        case .join(_, let copies):
            guard devices.count < limit else { return }
            try await join(copying: copies ? peer : nil, version: versions[peer])
        case .copyContainer:
            if let (earlier, _) = copies[peer] { try? FileManager.default.removeItem(atPath: earlier.string) }
            copies[peer] = (try devices[peer].copyContainer(), synchroniser.partialFiles(of: peer))
        case .putBackContainer:
            guard let (copy, partial) = copies.removeValue(forKey: peer) else { return }
            try keepLogs(of: peer)
            try devices[peer].putBack(copy)
            synchroniser.setPartialFiles(partial, of: peer)
        }
    }

    private mutating func upgrade(_ peer: Int) async throws {
        guard versions[peer] < schema.versions else { return }
        try await stores[peer].close()
        versions[peer] += schema.isModelled ? schema.versions - versions[peer] : 1
        stores[peer] = try await open(devices[peer], version: versions[peer])
    }

    /// Makes a device without a store one of the peers.
    mutating func join(copying peer: Int?, version: Int) async throws {
        let device = try newcomer("device\(devices.count)", copying: peer)
        synchroniser.connect(device, copyOf: peer)
        devices.append(device)
        versions.append(version)
        stores.append(try await open(device, version: version))
    }

    /// Makes a device without a store, with a copy of a peer's container, or empty.
    func newcomer(_ name: String, copying peer: Int?) throws -> SimulatedDevice {
        let device = try SimulatedDevice(
            name, in: directory, clock: ManualClock(devices[peer ?? 0].clock.now), seed: seed)
        if let peer {
            try FileManager.default.removeItem(atPath: device.root.string)
            try FileManager.default.copyItem(atPath: devices[peer].root.string, toPath: device.root.string)
        }
        return device
    }

    /// Keeps the logs of a container before its loss, for the model.
    private func keepLogs(of peer: Int) throws {
        let root = devices[peer].root
        for path in try FileManager.default.subpathsOfDirectory(atPath: root.string) {
            guard let name = FilePath(path).lastComponent, LogFileName(name.string) != nil else { continue }
            try? FileManager.default.copyItem(atPath: root.pushing(FilePath(path)).string, toPath: trimmed.appending(name).string)
        }
    }

    /// Upgrades and delivers everything, until each peer has read everything.
    mutating func heal() async throws {
        for peer in living { while versions[peer] < schema.versions { try await upgrade(peer) } }
        try await deliverAll()
        // Peers do not wait for logs that died with their device, or were damaged before any peer had read them.
        while isLossy, let lost = try await firstLost() {
            try await stores[living[0]].retire(lost, at: .max)
            try await deliverAll()
        }
    }

    /// Whether logs may be lost permanently.
    private var isLossy: Bool { !dead.isEmpty || hasDamage }

    /// Damages a log as a bad disk would; the model keeps a copy.
    private mutating func damage(_ peer: Int, _ seed: UInt64) throws {
        let root = devices[peer].root
        let logs = try FileManager.default.subpathsOfDirectory(atPath: root.string).filter { LogFileName(FilePath($0).lastComponent!.string) != nil }
        guard !logs.isEmpty else { return }
        let log = FilePath(logs.sorted()[Int(seed % UInt64(logs.count))])
        try? FileManager.default.copyItem(atPath: root.pushing(log).string, toPath: trimmed.appending(log.lastComponent!.string).string)
        try Data("damaged".utf8).write(to: URL(filePath: root.pushing(log).string))
        hasDamage = true
    }

    var living: [Int] { stores.indices.filter { !dead.contains($0) } }

    mutating func deliverAll() async throws {
        for _ in 0..<4 {
            for peer in living { try await settle(peer) }
            try synchroniser.deliverAll()
        }
        for peer in living { try await settle(peer) }
    }

    /// Exchanges; if the container was replaced and lacks the store's mark, writes the mark again.
    private func settle(_ peer: Int) async throws {
        do {
            try await stores[peer].settled()
        } catch let error as UbiquitousStoreError where error.code == .suspended {
            try await stores[peer].answerWipe(.republish)
            try await stores[peer].settled()
        }
    }

    /// Returns the author of a log that a peer waits for and no peer has passed over.
    private func firstLost() async throws -> PeerIdentifier? {
        for peer in living {
            let facts = try await stores[peer].peers().filter { $0.passable > 0 }.map(\.peer)
            let awaited = try await stores[peer].status().awaited.map(\.peer)
            if let lost = awaited.first(where: { !facts.contains($0) }) { return PeerIdentifier(lost) }
        }
        return nil
    }

    /// Returns a difference between peers or from the model, or a loss; nil if there is none.
    func difference() async throws -> String? {
        var contents: [[String]] = []
        var listed = listed
        var epochs: [Int64] = []
        var known: Set<ContentHash> = []
        var quarantined: Set<ContentHash> = []
        for peer in living {
            let store = stores[peer]
            let status = try await store.status()
            // Partial files from a lost device stay partial.
            quarantined.formUnion(status.quarantined.compactMap { LogFileName($0.file)?.hash })
            guard status.waiting.isEmpty, status.quarantined.isEmpty || isLossy, status.unpublished == 0 else {
                return "peer \(peer) is not done: \(status.waiting) \(status.quarantined) \(status.unpublished)"
            }
            epochs.append(status.epoch)
            contents.append(try await store.read { [schema] db in try schema.rows(db) })
            listed.formUnion(try await conflicts(of: store))
            known.formUnion(
                try await store.read { db in try Data.fetchAll(db, sql: "SELECT hash FROM ubiquity_log").compactMap { ContentHash(bytes: $0) } })
            let orphans = try await store.read { db in try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").map(\.description) }
            if !orphans.isEmpty { return "peer \(peer) shows orphans: \(orphans)" }
            let faults = try await store.read { db in try String.fetchAll(db, sql: "PRAGMA integrity_check") }.filter { !Self.isAllowed($0) }
            if !faults.isEmpty { return "peer \(peer)'s file is damaged: \(faults)" }
        }
        guard quarantined.isDisjoint(with: known) else { return "a log that some peer holds was not brought to the others" }
        guard epochs.allSatisfy({ $0 == epochs[0] }) else { return "the peers are in different epochs: \(epochs)" }
        for (peer, content) in zip(living, contents) where content != contents[0] {
            return """
                peers show otherwise, \(peer) than \(living[0]): \(Self.difference(contents[0], content)); \
                held \(try await held(living[0])), \(try await held(peer))
                """
        }
        guard schema.isModelled else { return nil }
        let model = try LogModel(
            container: await devices[living[0]].container().path, contentName: "Store", elsewhere: [trimmed] + dead.map { devices[$0].root },
            known: known, isWhole: !isLossy, epoch: epochs[0], tables: schema.tables)
        let shown = RelationModel(model)
        if let duplicate = shown.firstDuplicate() { return duplicate }
        let expected = schema.tables.flatMap { shown.rows($0) }
        for (peer, content) in zip(living, contents) where content != expected {
            let difference = content.difference(from: expected)
            return "peer \(peer) shows otherwise than the logs say: \(difference.insertions) for \(difference.removals)"
        }
        if let lost = model.firstLost(listed: listed) { return "\(lost), and no peer lists it" }
        return nil
    }

    /// Returns the difference between the rows of two stores.
    static func difference(_ one: [String], _ other: [String]) -> String {
        let (first, second) = (Set(one), Set(other))
        return "only \(second.subtracting(first).sorted()), not \(first.subtracting(second).sorted())"
    }

    /// Returns the hidden records of a store, with reasons.
    func held(_ peer: Int) async throws -> [String] {
        try await stores[peer].read { db in
            try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE name LIKE 'ubiquity\\_aside\\__' ESCAPE '\\'").flatMap { table in
                try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { "\(table) \($0)" }
            }
        }
    }

    /// Returns whether a fault is allowed: merging may break some rules, which is listed, or a column's default may
    /// break its CHECK.
    private static func isAllowed(_ fault: String) -> Bool { fault == "ok" || fault.hasPrefix("CHECK constraint failed") }

    /// Returns the lost values that a store lists.
    private func conflicts(of store: UbiquitousStore) async throws -> [LostValue] {
        try await store.read { db in
            try ConflictHistory(db).list().flatMap { conflict in
                conflict.lost.map { LostValue(conflict.record, $0.column, $0.value) }
            }
        }
    }

    /// Returns the files in the devices' containers; the names of logs identify their contents.
    func files() throws -> [String] {
        try devices.flatMap { device in
            try FileManager.default.subpathsOfDirectory(atPath: device.root.string).sorted().map { "\(device.name)/\($0)" }
        }
    }

    /// Closes all stores.
    func close() async throws { for peer in living { try await stores[peer].close() } }
}
