import Foundation
import ObjectTransfer
import Synchronization
import UbiquityContainers
import UbiquityTesting

/// A simulated run of a few devices that share nothing but a faulty remote: a seed in, the first broken promise out.
///
/// Each device writes and removes files as its stores do, begins epochs, loses its container or its index, and crashes between any
/// two steps of its agent. In the end nothing goes wrong any more, and all devices must hold the same files, byte for byte.
package struct TransferRun {
    /// What went wrong.
    package struct Broken: Error, CustomStringConvertible {
        package var description: String
    }

    /// What a run has done, so that a suite can show that it has met what it is about.
    package struct Tally: Sendable {
        package var passes = 0, crashes = 0, files = 0, removals = 0, epochs = 0, wipes = 0, lostIndices = 0
        /// The runs in which the daily repair was needed.
        package var repairs = 0

        package init() {}

        package static func += (left: inout Self, right: Self) {
            left.passes += right.passes
            left.crashes += right.crashes
            left.files += right.files
            left.removals += right.removals
            left.epochs += right.epochs
            left.wipes += right.wipes
            left.lostIndices += right.lostIndices
            left.repairs += right.repairs
        }
    }

    /// A device with its agent, which a crash ends.
    private final class Device {
        let peer: PeerIdentifier
        let disk: MemoryDisk
        let index: MemoryIndex
        var runner: TransferRunner?
        var sequence = 0
        /// The files that its own apps have written and not removed.
        var own: Set<TransferPath> = []

        init(_ peer: PeerIdentifier, _ faults: TransferFaults) {
            (self.peer, disk, index) = (peer, MemoryDisk(faults), MemoryIndex(faults))
        }
    }

    private let account: AccountName
    private let faults: TransferFaults
    private let cloud: MemoryCloud
    private var devices: [Device] = []
    /// All files that have been written and not removed by their owners.
    private var expected: [TransferPath: [UInt8]] = [:]
    private var marks: Set<String> = []
    private var identifiers: UInt64 = 0
    private let trace: Bool
    package private(set) var tally = Tally()

    package init(seed: UInt64, trace: Bool = false) {
        account = try! AccountName("ann")
        faults = TransferFaults(seed: seed)
        cloud = MemoryCloud(faults)
        self.trace = trace
    }

    /// Runs.
    ///
    /// - Parameter operations: how many things happen while the remote is faulty.
    /// - Throws: ``Broken``.
    package mutating func run(operations: Int = 60) async throws {
        for number in 0..<faults.number(in: 2..<4) {
            let peer = PeerIdentifier("ann~00000000-0000-4000-8000-00000000000\(number)")!
            devices.append(Device(peer, faults))
        }
        for device in devices { write(".ubiquity/\(device.peer)", by: device) }
        write("CoreData/Notes/epochs/1.\(devices[0].peer)", by: devices[0])
        faults.set(rate: [0.0, 0.02, 0.1, 0.3][faults.number(in: 0..<4)])
        for _ in 0..<operations { try await step() }
        faults.set(rate: 0)
        faults.crash(after: nil)
        try await settle()
        do {
            try await check()
        } catch {
            // Two losses of an index, and an upload that was cut off in between, leave an object that only the daily repair finds.
            note("\(error)")
            tally.repairs += 1
            for device in devices { _ = try await device.runner?.verify() }
            try await settle()
            try await check()
        }
    }

    private func note(_ text: @autoclosure () -> String) { if trace { print(text()) } }

    // MARK: What happens

    private mutating func step() async throws {
        let device = devices[faults.number(in: 0..<devices.count)]
        switch faults.number(in: 0..<20) {
        case 0..<6:
            device.sequence += 1
            let kinds = ["\(device.sequence).ublog", "values/\(device.sequence)", "receipts/\(device.sequence)", "baselines/\(device.sequence)"]
            let directory = "CoreData/Notes/\(device.peer)/\(seen(by: device))"
            write("\(directory)/\(kinds[faults.number(in: 0..<4)])", by: device)
            // A store always has a receipt; it removes one when it has written the next.
            if marks.insert(directory).inserted { write("\(directory)/receipts/kept", by: device) }
        case 6..<8: remove(by: device)
        case 8 where faults.number(in: 0..<4) == 0: beginEpoch(device)
        case 9 where faults.number(in: 0..<4) == 0: try await wipe(device)
        case 10 where faults.number(in: 0..<6) == 0: loseIndex(device)
        default:
            faults.crash(after: faults.number(in: 0..<3) == 0 ? faults.number(in: 0..<40) : nil)
            await pass(device)
            faults.crash(after: nil)
        }
    }

    private mutating func write(_ path: String, by device: Device) {
        let path = TransferPath("org.example.notes/\(path)", of: account)!
        let bytes = (0..<faults.number(in: 0..<40)).map { _ in UInt8(faults.number(in: 0..<256)) }
        device.disk.write(bytes, to: path)
        device.own.insert(path)
        expected[path] = bytes
        tally.files += 1
        note("\(device.peer.description.suffix(1)) writes \(path)")
    }

    /// The newest epoch of which a device has a mark.
    private func seen(by device: Device) -> Int64 {
        device.disk.files.keys.filter(\.beginsEpoch).compactMap { $0.epoch?.number }.max() ?? 1
    }

    /// Removes a file as a store does that has no use for it any more.
    private mutating func remove(by device: Device) {
        let mark = TransferPath("org.example.notes/.ubiquity/\(device.peer)", of: account)!
        let files = device.own.filter { $0.role != .mark && !$0.description.hasSuffix("/kept") && device.disk.files[$0] != nil }.sorted()
        guard device.disk.files[mark] != nil, !files.isEmpty else { return }
        let path = files[faults.number(in: 0..<files.count)]
        device.disk.forget(path)
        device.own.remove(path)
        expected[path] = nil
        tally.removals += 1
        note("\(device.peer.description.suffix(1)) removes \(path)")
    }

    private mutating func beginEpoch(_ device: Device) {
        let number = seen(by: device) + 1
        let mark = "CoreData/Notes/epochs/\(number).\(device.peer)"
        // A mark that is on its way back is not written again: each name is used once.
        guard marks.insert(mark).inserted else { return }
        write(mark, by: device)
        clean(device)
        tally.epochs += 1
    }

    /// Removes the files of ended epochs, and its own files that it has removed before, as every store does.
    private func clean(_ device: Device) {
        let newest = seen(by: device)
        for path in device.disk.files.keys where !path.beginsEpoch {
            guard let epoch = path.epoch else { continue }
            if epoch.number < newest || path.peer == device.peer && !device.own.contains(path) { device.disk.forget(path) }
        }
    }

    /// Removes the container of a device with everything in it, when its agent has just told everything.
    private mutating func wipe(_ device: Device) async throws {
        faults.set(rate: 0)
        defer { faults.set(rate: 0.05) }
        try await quieten(device)
        for path in device.disk.files.keys { device.disk.forget(path) }
        tally.wipes += 1
        note("\(device.peer.description.suffix(1)) loses its container")
    }

    private mutating func loseIndex(_ device: Device) {
        device.runner = nil
        device.index.lose()
        tally.lostIndices += 1
        note("\(device.peer.description.suffix(1)) loses its index")
    }

    // MARK: The agents

    private mutating func runner(of device: Device) throws -> TransferRunner {
        if let runner = device.runner { return runner }
        // A device keeps one identifier over crashes, because the index has it.
        identifiers += 1_000_000
        let counter = IdentifierCounter(identifiers)
        let runner = try TransferRunner(
            account: account, store: MemoryStore(cloud: cloud, disk: device.disk), disk: device.disk, memory: device.index,
            situation: TransferSituation(peers: [device.peer], limit: MassDeletionLimit(items: 1_000_000)), options: Self.options, log: nil,
            now: { Date(timeIntervalSince1970: 0) }, newIdentifier: { counter.next() })
        device.runner = runner
        return runner
    }

    private static let options: TransferOptions = {
        var options = TransferOptions()
        // One file after the other, so that a seed repeats a run.
        (options.width, options.filesInOneBulletin) = (1, 5)
        return options
    }()

    private mutating func pass(_ device: Device) async {
        do {
            let outcome = try await runner(of: device).pass(.everything)
            tally.passes += 1
            note("\(device.peer.description.suffix(1)) passes: \(outcome)")
        } catch {
            // Whatever it had in memory is gone.
            device.runner = nil
            device.disk.crash()
            tally.crashes += 1
            note("\(device.peer.description.suffix(1)) crashes")
        }
    }

    /// Lets a device pass until it has nothing to do.
    private mutating func quieten(_ device: Device) async throws {
        for _ in 0..<200 {
            let outcome = try await runner(of: device).pass(.everything)
            tally.passes += 1
            let awaitsLook = await device.runner!.awaitsLook
            if outcome.block == nil, outcome.failure == nil, !outcome.isBusy, !outcome.hasMore, !awaitsLook { return }
        }
        throw Broken(description: "\(device.peer) does not come to rest: \(await device.runner!.facts)")
    }

    private mutating func settle() async throws {
        var before: [[TransferPath: [UInt8]]] = []
        var rest = 0
        for _ in 0..<30 {
            for device in devices {
                // What could not be read for long is tried again in each eighth pass.
                for _ in 0..<8 { await pass(device) }
                try await quieten(device)
                clean(device)
            }
            let now = devices.map(\.disk.files)
            // What one device tells at the end of a round, the others read in the next.
            rest = now == before ? rest + 1 : 0
            if rest == 2 { return }
            before = now
        }
        throw Broken(description: "the devices do not come to rest")
    }

    // MARK: What must hold

    private func check() async throws {
        let newest = expected.keys.filter(\.beginsEpoch).compactMap { $0.epoch?.number }.max() ?? 1
        let living = expected.filter { path, _ in path.beginsEpoch || path.epoch.map { $0.number >= newest } ?? true }
        for device in devices {
            let files = device.disk.files
            for (path, bytes) in living.sorted(by: { $0.key < $1.key }) {
                guard let found = files[path] else { throw Broken(description: "\(device.peer) lacks \(path); \(await story(of: path))") }
                guard found == bytes else { throw Broken(description: "\(device.peer) has other bytes of \(path)") }
            }
            for path in files.keys.sorted() where living[path] == nil && !path.beginsEpoch {
                throw Broken(description: "\(device.peer) still has \(path), which its owner has removed; \(await story(of: path))")
            }
        }
    }
}

extension TransferRun {
    /// What the devices know of a file.
    private func story(of path: TransferPath) async -> String {
        var lines: [String] = []
        for device in devices {
            let record = await device.runner?.book.files[path]
            lines.append("\n  \(device.peer): here \(device.disk.files[path] != nil), \(record.map { "\($0)" } ?? "unknown")")
        }
        return lines.joined()
    }
}

/// Identifiers that a seed repeats.
private final class IdentifierCounter: Sendable {
    private let state: Mutex<UInt64>
    init(_ start: UInt64) { state = Mutex(start) }

    func next() -> UUID {
        let number = state.withLock {
            $0 += 1
            return $0
        }
        let digits = String(number, radix: 16)
        return UUID(uuidString: "00000000-0000-4000-9000-\(String(repeating: "0", count: 12 - digits.count))\(digits)")!
    }
}
