internal import Foundation
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers
internal import UbiquityStores

/// Transfers files between the containers roots of devices as Syncthing would; each account's files go only between
/// devices that know it.
actor DeviceSynchroniser {
    private struct Member {
        let device: SimulatedDevice
        var isPaused = false
    }

    private struct Place: Hashable {
        var member: Int
        var account: AccountName
    }

    /// A file for one device to take from another.
    private struct Transfer {
        var account: AccountName
        var path: String
        var source: Int
        var target: Int

        /// The number of directories above it.
        var depth: Int { path.utf8.count { $0 == UInt8(ascii: "/") } }
        var order: (String, String, Int, Int) { (account.description, path, source, target) }
    }

    private nonisolated let executor = QueueExecutor(label: "UbiquityTesting.synchroniser")
    private var members: [Member] = []
    private var folders: [Place: SyncFolder] = [:]
    private var random: SeededRandom
    private let wakes = Broadcast<Void>(buffering: .bufferingNewest(1))
    /// The number of files written or deleted so far.
    private(set) var moved = 0

    /// The actor has its own executor, because it scans directories and copies files, and no other task must wait for
    /// that.
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    func add(_ device: SimulatedDevice) {
        members.append(Member(device: device))
        wake()
    }

    /// Returns whether a device of that name exists.
    func has(_ name: String) -> Bool { members.contains { $0.device.name == name } }

    func setPaused(_ isPaused: Bool, _ device: SimulatedDevice) {
        for index in members.indices where members[index].device.directory == device.directory { members[index].isPaused = isPaused }
        wake()
    }

    private func wake() { wakes.post { _ in () } }

    /// Transfers files until nothing is left, or a limit is reached.
    ///
    /// - Parameter limit: the greatest number of files; nil for all.
    /// - Returns: the number of files written or deleted.
    /// - Throws: `ContainerError`, `CancellationError`.
    func carry(atMost limit: Int? = nil) async throws -> Int {
        var count = 0
        while true {
            try Task.checkCancellation()
            let (files, isDone) = try round(atMost: limit.map { $0 - count })
            count += files
            if isDone || count == limit { return count }
            // A caller that pauses a device meanwhile need not wait for the end.
            await Task.yield()
        }
    }

    /// Transfers files whenever they change, until the task is cancelled.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            var watched = 0
            let wakes = wakes.subscribe()
            wake()
            for await _ in wakes {
                while watched < members.count {
                    let changes = try TreeWatcher(members[watched].device.root).changes
                    let identities = try members[watched].device.home.identityChanges
                    group.addTask { for await _ in changes { await self.wake() } }
                    group.addTask { for await _ in identities { await self.wake() } }
                    watched += 1
                }
                do { _ = try await carry() } catch is CancellationError { return }
            }
        }
    }

    // MARK: One round

    /// Scans all devices, and performs the transfers that follow from the scan.
    ///
    /// - Returns: the number of files written or deleted, and whether nothing was left to do.
    private func round(atMost limit: Int?) throws -> (files: Int, isDone: Bool) {
        do {
            let places = try look()
            var transfers = plan(places)
            transfers.shuffle(using: &random)
            // A directory is removed after its contents.
            let last = transfers.filter(isRemovalOfDirectory).sorted { $0.depth > $1.depth }
            var (files, isDone) = (0, true)
            for transfer in transfers.filter({ !isRemovalOfDirectory($0) }) + last where files < limit ?? .max {
                guard let content = try perform(transfer) else { continue }
                isDone = false
                if content != .directory { files += 1 }
            }
            moved += files
            return (files, isDone)
        } catch let error as ContainerError {
            throw error
        } catch {
            throw ContainerError(
                .fileSystem, "The simulated devices cannot be synchronised: a file of theirs cannot be read or written; check the free space.",
                path: members.first?.device.directory.removingLastComponent(), cause: error)
        }
    }

    /// Scans each folder; returns the folders that could be scanned.
    private func look() throws -> [AccountName: [Int]] {
        var places: [AccountName: [Int]] = [:]
        for (number, member) in members.enumerated() where !member.isPaused {
            for account in try member.device.home.accounts(below: member.device.root) {
                let place = Place(member: number, account: account)
                let path = member.device.root.appending(account.description)
                if try folders[place, default: SyncFolder(path, of: number)].look() { places[account, default: []].append(number) }
            }
        }
        return places
    }

    /// Returns the transfers to perform, and records agreements that need no transfer.
    private func plan(_ places: [AccountName: [Int]]) -> [Transfer] {
        var transfers: [Transfer] = []
        for (account, members) in places {
            for source in members {
                for (path, entry) in folders[Place(member: source, account: account)]!.index.entries {
                    for target in members where target != source {
                        switch folders[Place(member: target, account: account)]!.index.step(path, offered: entry) {
                        case .nothing: break
                        case .agree(let agreed): folders[Place(member: target, account: account)]!.index.set(path, to: agreed)
                        case .take: transfers.append(Transfer(account: account, path: path, source: source, target: target))
                        }
                    }
                }
            }
        }
        return transfers.sorted { $0.order < $1.order }
    }

    private func isRemovalOfDirectory(_ transfer: Transfer) -> Bool {
        let source = folders[Place(member: transfer.source, account: transfer.account)]!.index.entries[transfer.path]!
        let target = folders[Place(member: transfer.target, account: transfer.account)]!.index.entries[transfer.path]
        return source.finding.content == .deleted && target?.finding.content == .directory
    }

    /// Transfers one file, if that is still needed.
    ///
    /// - Returns: the written or deleted content; nil if there was none.
    private func perform(_ transfer: Transfer) throws -> FolderIndex.Content? {
        let place = Place(member: transfer.target, account: transfer.account)
        let source = folders[Place(member: transfer.source, account: transfer.account)]!
        guard let offered = source.index.entries[transfer.path],
            case .take(let entry, let keepsCopy) = folders[place]!.index.step(transfer.path, offered: offered)
        else { return nil }
        let copy = keepsCopy ? conflictName(of: transfer.path, at: folders[place]!, members[transfer.target].device) : nil
        let content = isRemovalOfDirectory(transfer) ? .directory : entry.finding.content
        return try folders[place]!.take(transfer.path, entry, from: source, keeping: copy) ? content : nil
    }

    /// Returns Syncthing's name for a copy of the losing content, by the device's clock:
    /// `Letter.sync-conflict-20270115-080000-PHONEAA.txt`.
    private func conflictName(of path: String, at folder: SyncFolder, _ device: SimulatedDevice) -> String {
        let path = FilePath(path)
        let name = path.lastComponent!
        var time = device.clock.now
        while true {
            let stamp = "\(Self.format(time))-\(device.shortIdentifier)"
            let copy = "\(name.stem).sync-conflict-\(stamp)\(name.extension.map { ".\($0)" } ?? "")"
            if folder.index.entries[path.removingLastComponent().appending(copy).string] == nil { return copy }
            time += 1
        }
    }

    private static func format(_ time: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: time)
        func digits(_ number: Int?, _ count: Int) -> String {
            let text = String(number!)
            return String(repeating: "0", count: count - text.count) + text
        }
        return digits(parts.year, 4) + digits(parts.month, 2) + digits(parts.day, 2) + "-" + digits(parts.hour, 2) + digits(parts.minute, 2)
            + digits(parts.second, 2)
    }
}

extension SimulatedDevice {
    /// Seven characters in base 32 (RFC 4648), as in Syncthing's short device identifiers.
    fileprivate var shortIdentifier: String {
        let letters = name.uppercased().filter { $0.isASCII && ($0.isLetter || ("2"..."7").contains($0)) }
        return String((letters + "AAAAAAA").prefix(7))
    }
}
