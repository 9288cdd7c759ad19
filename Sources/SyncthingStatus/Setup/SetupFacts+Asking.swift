internal import SystemPackage
package import UbiquityContainers

/// Where the setup looks for this device's Syncthing, the first that is there.
package struct SyncthingSearch: Sendable {
    /// The address and key that the user gave.
    package var given: SyncthingConfiguration?
    /// The directory that the user named, or the one that Syncthing uses by itself.
    package var home: SyncthingHome?
    /// Whether the user named a directory, so that `config.json` does not matter.
    package var isHomeGiven: Bool

    package init(given: SyncthingConfiguration?, home: SyncthingHome?, isHomeGiven: Bool) {
        self.given = given
        self.home = home
        self.isHomeGiven = isHomeGiven
    }
}

extension SyncthingEndpoint {
    /// Makes the endpoint of a configuration.
    package init(_ configuration: SyncthingConfiguration) throws(SyncthingError) {
        try self.init(configuration.address, key: configuration.key, certificate: configuration.certificate.map { FilePath($0) })
    }
}

extension SetupFacts {
    /// How long an answer may take.
    private static let patience = Duration.seconds(20)

    /// Returns a client of the Syncthing that was found.
    package func client() throws -> SyncthingClient? {
        guard let found else { return nil }
        return SyncthingClient(try SyncthingEndpoint(found), timeout: Self.patience)
    }

    /// Looks at this device, and changes nothing.
    ///
    /// - Parameters:
    ///   - home: the device home.
    ///   - wish: what the device is to be.
    ///   - search: where Syncthing may be; nil if it does not matter.
    /// - Throws: `SetupError`, `SyncthingError`, `ContainerError`, `CancellationError`.
    package init(of home: DeviceHome, for wish: SetupWish, search: SyncthingSearch?) async throws {
        self.init(home: PathFacts.resolved(home.path), hostName: HomeSettings.hostName)
        account = try home.account
        accountRoot = try HomeSettings(home).containersRoot(of: wish.account).map(PathFacts.resolved)
        deviceName = try HomeSettings(home).deviceName
        transport = try HomeSettings(home).transport
        configured = try home.syncthing
        madeFolder = try HomeSettings(home).record.folder
        look(at: wish)
        if let search { try await ask(search, wish) }
    }

    private mutating func look(at wish: SetupWish) {
        let files = LinuxFileLayer()
        let place = PathFacts(at: wish.root)
        switch place.kind {
        case .nothing:
            root = .nothing
            // The nearest directory that exists is where the root would be made.
            var parent = wish.root
            while PathFacts(at: parent).kind == .nothing, parent.removeLastComponent() {}
            let above = PathFacts(at: parent)
            if above.kind != .directory || !above.isWritable { root = above.kind == .directory ? .directory(isWritable: false) : .unusable }
        case .directory: root = .directory(isWritable: place.isReadable && place.isWritable)
        case .file, .link, .other, .hidden: root = .unusable
        }
        let names = (try? files.names(in: wish.root)) ?? []
        strangers = names.filter { $0 != wish.account.description && !$0.hasPrefix(".") }.sorted()
        hasAccountDirectory = (try? files.kind(of: wish.root.appending(wish.account.description))) ?? nil == .directory
        if case .present(let file) = StignoreRule.check(above: wish.root, files: files) { hasRule = file.removingLastComponent() == wish.root }
    }

    private mutating func ask(_ search: SyncthingSearch, _ wish: SetupWish) async throws {
        if let given = search.given {
            found = given
            syncthing = .running(try await answer(wish))
            return
        }
        if !search.isHomeGiven, let configured, try await answers(configured, wish) { return }
        found = try search.home?.interface()
        guard found != nil else {
            // What is configured is the user's, even if it does not answer now.
            if search.home == nil, !search.isHomeGiven, let configured { _ = try await SetupFacts.answer(configured, wish) }
            syncthing = .missing
            return
        }
        do {
            syncthing = .running(try await answer(wish))
        } catch let error as SyncthingError where error.code == .notReachable || isCertificateMissing(error, search) {
            syncthing = .stopped
        }
    }

    /// Whether the configured Syncthing answers; what is found then is it.
    private mutating func answers(_ configured: SyncthingConfiguration, _ wish: SetupWish) async throws -> Bool {
        do {
            let answer = try await Self.answer(configured, wish)
            (found, syncthing) = (configured, .running(answer))
            return true
        } catch let error as SyncthingError where [.notReachable, .wrongKey, .unusableCertificate, .untrusted].contains(error.code) {
            return false
        }
    }

    /// A Syncthing that has never run has no certificate for its web interface yet.
    private func isCertificateMissing(_ error: SyncthingError, _ search: SyncthingSearch) -> Bool {
        error.code == .unusableCertificate && search.home.map { PathFacts(at: $0.certificate).kind == .nothing } == true
    }

    private func answer(_ wish: SetupWish) async throws -> Answer { try await Self.answer(found!, wish) }

    private static func answer(_ configuration: SyncthingConfiguration, _ wish: SetupWish) async throws -> Answer {
        let client = SyncthingClient(try SyncthingEndpoint(configuration), timeout: patience)
        let version = try await client.version()
        if SyncthingVersion(version).isTooOld {
            throw SetupError("The Syncthing at \(client.endpoint) is \(version); update it to \(SyncthingVersion.oldest) or newer.")
        }
        let status = try await client.systemStatus()
        guard let device = DeviceIdentifier(status.device) else {
            throw SyncthingError(
                .unexpectedAnswer, "The answer at \(client.endpoint) is not that of Syncthing \(SyncthingVersion.oldest) or newer; check the address."
            )
        }
        let devices = try await client.devices()
        var answer = Answer(version: version, device: device, name: devices.first { $0.id == status.device }?.name ?? "")
        answer.devices = devices.filter { $0.id != status.device }.map { Device(id: $0.id, name: $0.name, isPaused: $0.isPaused) }
        answer.folders = try await client.folders().map { folder in
            let text = folder.path.hasPrefix("~/") && !status.tilde.isEmpty ? status.tilde + folder.path.dropFirst() : folder.path
            return Folder(
                id: folder.id, label: folder.label, path: PathFacts.resolved(FilePath(text)), type: folder.type, isPaused: folder.isPaused,
                others: folder.devices.filter { $0 != status.device })
        }
        answer.connected = try await client.connections().connected
        if let folder = answer.folders.first(where: { $0.path == wish.root }), !folder.isPaused {
            do {
                answer.holders = Set(try await client.file(wish.account.description, in: folder.id)?.holders ?? [])
            } catch let error as SyncthingError where error.code == .unexpectedAnswer {
                // Syncthing is still starting the folder.
            }
        }
        return answer
    }
}
