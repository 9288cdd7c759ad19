internal import Glibc
internal import SystemPackage
internal import UbiquityContainers

/// One round of questions about a folder, which asks each question once for all items.
actor Inquiry {
    private let client: SyncthingClient
    private let folder: SharedFolder
    private var connected: Set<String>?
    private var ignores: IgnorePatterns?
    private var need: NeedPage?
    private var errors: [String: String]?
    private var needs: [String: DeviceNeed?] = [:]
    /// The items that were looked at, by name.
    private var seen: [String: (answer: FileAnswer?, disk: DiskState?)] = [:]

    /// What another device lacks.
    private struct DeviceNeed {
        var names: Set<String>

        init(_ page: NeedPage) { names = Set((page.waiting + page.progress).lazy.map(\.name)) }
    }

    init(client: SyncthingClient, folder: SharedFolder) {
        self.client = client
        self.folder = folder
    }

    /// Why Syncthing does not process the folder; nil if it does.
    var failure: String? {
        get async throws {
            if folder.isPaused { return "Syncthing has paused the folder \(folder.id); resume it there" }
            let state = try await client.state(of: folder.id)
            guard state.state == "error" || !state.error.isEmpty else { return nil }
            return "Syncthing has stopped the folder \(folder.id)\(state.error.isEmpty ? "" : ": \(state.error)"); see `ubcontrol doctor`"
        }
    }

    /// Returns the other devices that share the folder, by name.
    func devices() async throws -> [TransportDevice] {
        let known = Dictionary(try await client.devices().map { ($0.id, $0) }) { $1 }
        let connected = try await client.connections().connected
        let statistics = try await client.statistics()
        var devices: [TransportDevice] = []
        for id in folder.others {
            // Syncthing shows the first characters of an identifier.
            let name = known[id].map(\.name).flatMap { $0.isEmpty ? nil : $0 } ?? String(id.prefix(7))
            var device = TransportDevice(
                identifier: id, name: name, isConnected: connected.contains(id), isPaused: known[id]?.isPaused ?? false,
                // Of a connected device it is now, and would differ with each question.
                lastSeen: connected.contains(id) ? nil : statistics[id]?.lastSeen)
            // Syncthing reports nothing about a paused folder.
            if !folder.isPaused, let completion = try? await client.completion(of: id, in: folder.id), !completion.isNotSharing {
                device.missingItems = completion.needed
                device.missingBytes = completion.neededBytes
                device.completion = completion.percentage.map { $0 / 100 }
            }
            devices.append(device)
        }
        return devices.sorted { $0.name < $1.name }
    }

    /// Returns the items of the folder that this device has in no version, by name.
    func missing() async throws -> [String: ItemState] {
        let need = try await lacking()
        var missing: [String: ItemState] = [:]
        for (files, isFetched) in [(need.progress, true), (need.waiting, false)] {
            for file in files where !file.isDeleted && !isExcluded(file.name) && DiskState(folder.path.pushing(FilePath(file.name))) == nil {
                missing[file.name] = try await state(ofLacking: file, isFetched: isFetched)
            }
        }
        return missing
    }

    private func isExcluded(_ name: String) -> Bool { name.split(separator: "/").contains { ForeignNames.staysHere(String($0)) } }

    private func state(ofLacking file: NeedPage.File, isFetched: Bool) async throws -> ItemState {
        let size = file.isDirectory ? nil : file.size
        if isFetched { return ItemState(.downloading, size: size, isDirectory: file.isDirectory, progress: written(of: file)) }
        let failure = try await failures()[file.name]
        let status: ItemStatus = failure != nil ? .failed : DiskState(folder.path.pushing(FilePath(file.name))) == nil ? .notDownloaded : .downloaded
        return ItemState(status, size: size, isDirectory: file.isDirectory, failure: failure)
    }

    /// Returns how much of a file Syncthing has written, from the space of its temporary file.
    private func written(of file: NeedPage.File) -> TransferProgress? {
        let path = folder.path.pushing(FilePath(file.name))
        guard !file.isDirectory, let name = path.lastComponent?.string else { return nil }
        var status = stat()
        // Syncthing gives the file its size at once, and the space as it writes.
        guard lstat(path.removingLastComponent().appending(".syncthing.\(name).tmp").string, &status) == 0 else { return nil }
        return TransferProgress(done: min(file.size, Int64(status.st_blocks) * 512), total: file.size)
    }

    /// Reads the indices' entries of items, and forgets what devices lack, which is then asked again.
    ///
    /// An earlier list does not name an item that Syncthing has scanned since, and no device would seem to lack it. The
    /// disk comes after the index: an item that goes in between is gone, and not one that has come back.
    func look(at items: [FilePath]) async throws {
        for item in items {
            try Task.checkCancellation()
            guard let name = folder.name(of: item) else { continue }
            let answer = try await client.file(name, in: folder.id)
            seen[name] = (answer, DiskState(item))
        }
        (needs, need) = ([:], nil)
    }

    /// Returns the state of an item that was looked at.
    func state(of item: FilePath) async throws -> ItemState {
        try Task.checkCancellation()
        // The folder itself has no entry.
        guard let name = folder.name(of: item) else { return ItemState(try await standing(below: ""), isDirectory: true) }
        var evidence = ItemEvidence()
        let (answer, disk) = seen[name] ?? (nil, nil)
        evidence.disk = disk
        evidence.local = answer?.local
        evidence.global = answer?.global
        evidence.diskTime = answer?.diskTime
        guard let answer, let global = answer.global, !global.isAbsent else {
            if evidence.disk != nil { evidence.isIgnored = try await patterns().ignores(name) }
            let disk = evidence.disk
            return ItemState(evidence.status, size: disk.flatMap { $0.isDirectory ? nil : $0.size }, isDirectory: disk?.isDirectory ?? false)
        }
        var state = ItemState(.unknown, size: global.isDirectory || global.isDeleted ? nil : global.size, isDirectory: global.isDirectory)
        if answer.local?.version != global.version {
            let lacking = try await lacking()
            let fetched = lacking.progress.first { $0.name == name }
            evidence.isFetched = fetched != nil
            state.status = evidence.status
            if let fetched { state.progress = written(of: fetched) }
            if [.notDownloaded, .downloaded].contains(state.status), let failure = try await failures()[name] {
                (state.status, state.failure) = (.failed, failure)
            }
            return state
        }
        // The short form of a device's identifier.
        let isOthers = folder.others.contains { !global.modifiedBy.isEmpty && $0.hasPrefix(global.modifiedBy) }
        evidence.isElsewhere = !answer.holders.isEmpty || isOthers
        if !evidence.isElsewhere {
            for device in folder.others where try await !lacks(device, name) { evidence.isElsewhere = true }
            evidence.isConnected = try await isConnected()
        }
        state.status = evidence.status
        if state.status == .current, global.isDirectory { state.status = try await standing(below: name + "/") }
        return state
    }

    /// Returns the status of the items below a directory.
    private func standing(below prefix: String) async throws -> ItemStatus {
        let lacking = try await lacking()
        if lacking.progress.contains(where: { $0.name.hasPrefix(prefix) }) { return .downloading }
        if lacking.waiting.contains(where: { $0.name.hasPrefix(prefix) }) { return .downloaded }
        for device in folder.others where try await !lacks(device, below: prefix) { return .current }
        return try await isConnected() ? .uploading : .waitingToUpload
    }

    /// Returns the state of an item that all other devices lack, without asking about the item itself; nil if another
    /// device may have it.
    ///
    /// It serves long lists of files that never change once they are written.
    func stateOfLackedByAll(_ item: FilePath) async throws -> ItemState? {
        guard let name = folder.name(of: item), let disk = DiskState(item), !folder.others.isEmpty else { return nil }
        for device in folder.others {
            guard let need = try await need(of: device), need.names.contains(name) else { return nil }
        }
        return ItemState(try await isConnected() ? .uploading : .waitingToUpload, size: disk.size, isDirectory: disk.isDirectory)
    }

    /// Returns whether a device may lack an item, or any below a prefix.
    private func lacks(_ device: String, _ name: String) async throws -> Bool { try await need(of: device)?.names.contains(name) ?? true }

    private func lacks(_ device: String, below prefix: String) async throws -> Bool {
        try await need(of: device)?.names.contains { $0.hasPrefix(prefix) } ?? true
    }

    /// Returns what a device lacks; nil if nothing is known about it.
    private func need(of device: String) async throws -> DeviceNeed? {
        if needs[device] == nil {
            let completion = try await client.completion(of: device, in: folder.id)
            let isKnown = !completion.isNotSharing && completion.needed != nil
            needs[device] = .some(isKnown ? DeviceNeed(try await client.need(of: device, in: folder.id)) : nil)
        }
        return needs[device] ?? nil
    }

    private func isConnected() async throws -> Bool {
        if connected == nil { connected = try await client.connections().connected }
        return !connected!.isDisjoint(with: folder.others)
    }

    private func patterns() async throws -> IgnorePatterns {
        if ignores == nil { ignores = IgnorePatterns(try await client.ignores(of: folder.id).expanded) }
        return ignores!
    }

    /// Returns why Syncthing could not fetch items, by name.
    private func failures() async throws -> [String: String] {
        if errors == nil { errors = Dictionary(try await client.errors(in: folder.id).map { ($0.path, $0.error) }) { $1 } }
        return errors!
    }

    private func lacking() async throws -> NeedPage {
        if need == nil { need = try await client.need(in: folder.id) }
        return need!
    }
}
