internal import SystemPackage
internal import UbiquityContainers

/// One round of questions about a folder, which asks each question once for all items.
actor Inquiry {
    private let client: SyncthingClient
    private let folder: SharedFolder
    private var connected: Set<String>?
    private var ignores: IgnorePatterns?
    private var need: NeedPage?
    private var needs: [String: NeedPage?] = [:]

    init(client: SyncthingClient, folder: SharedFolder) {
        self.client = client
        self.folder = folder
    }

    /// Whether Syncthing processes the folder at all.
    var isReady: Bool {
        get async throws {
            if folder.isPaused { return false }
            let state = try await client.state(of: folder.id)
            return state.state != "error" && state.error.isEmpty
        }
    }

    func status(of item: FilePath) async throws -> ItemStatus {
        try Task.checkCancellation()
        // The folder itself has no entry.
        guard let name = folder.name(of: item) else { return try await standing(below: "") }
        var evidence = ItemEvidence()
        evidence.disk = DiskState(item)
        let answer = try await client.file(name, in: folder.id)
        evidence.local = answer?.local
        evidence.global = answer?.global
        evidence.diskTime = answer?.diskTime
        guard let answer, let global = answer.global, !global.isAbsent else {
            if evidence.disk != nil { evidence.isIgnored = try await patterns().ignores(name) }
            return evidence.status
        }
        if answer.local?.version != global.version {
            evidence.isFetched = try await lacking().progress.contains(name)
            return evidence.status
        }
        // The short form of a device's identifier.
        let isOthers = folder.others.contains { !global.modifiedBy.isEmpty && $0.hasPrefix(global.modifiedBy) }
        evidence.isElsewhere = !answer.holders.isEmpty || isOthers
        if !evidence.isElsewhere {
            for device in folder.others where try await !lacks(device, { $0 == name }) { evidence.isElsewhere = true }
            evidence.isConnected = try await isConnected()
        }
        let status = evidence.status
        return status == .current && global.isDirectory ? try await standing(below: name + "/") : status
    }

    /// Returns the status of the items below a directory.
    private func standing(below prefix: String) async throws -> ItemStatus {
        let lacking = try await lacking()
        if lacking.progress.contains(where: { $0.hasPrefix(prefix) }) { return .downloading }
        if lacking.waiting.contains(where: { $0.hasPrefix(prefix) }) { return .downloaded }
        for device in folder.others where try await !lacks(device, { $0.hasPrefix(prefix) }) { return .current }
        return try await isConnected() ? .uploading : .waitingToUpload
    }

    /// Returns whether a device may lack any of the items that the names match.
    private func lacks(_ device: String, _ isMeant: (String) -> Bool) async throws -> Bool {
        if needs[device] == nil {
            let completion = try await client.completion(of: device, in: folder.id)
            // Nil means that nothing is known about it.
            let page: NeedPage? = completion.isNotSharing || completion.needed == nil ? nil : try await client.need(of: device, in: folder.id)
            needs[device] = .some(page)
        }
        guard let page = needs[device] ?? nil else { return true }
        return page.waiting.contains(where: isMeant) || page.progress.contains(where: isMeant)
    }

    private func isConnected() async throws -> Bool {
        if connected == nil { connected = try await client.connections().connected }
        return !connected!.isDisjoint(with: folder.others)
    }

    private func patterns() async throws -> IgnorePatterns {
        if ignores == nil { ignores = IgnorePatterns(try await client.ignores(of: folder.id).expanded) }
        return ignores!
    }

    private func lacking() async throws -> NeedPage {
        if need == nil { need = try await client.need(in: folder.id) }
        return need!
    }
}
