public import StoreExchange
public import StoreFormat
internal import StoreRecords
public import SystemPackage
public import UbiquityContainers

extension StoreScope {
    /// Creates a public container, whose owner is a new account and whose steward is this device.
    ///
    /// The owner holds every role at first.
    ///
    /// - Parameters:
    ///   - root: the path of a directory, below which the container is `public/<identifier>`.
    ///   - access: who may change the records of each synced table.
    ///   - home: the device home, which gets the keys; nil for the user's own.
    /// - Returns: the scope, and the owner's account.
    /// - Throws: `UbiquitousStoreError`, or `Errno` if the directory cannot be written to.
    public static func createPublic(
        at root: String, access: [String: TableAccess], home: DeviceHome? = nil
    ) async throws -> (scope: StoreScope, owner: AccountIdentifier) {
        let home = try home ?? DeviceHome.standard()
        return try await blocking {
            var beginning = ScopeRegistration.Beginning()
            beginning.access = access
            let (container, owner) = try ScopeRegistration(home: home, root: FilePath(root)).createContainer(beginning)
            return (.public(container.description, at: root), owner)
        }
    }

    /// Returns the directory that holds `public/<container>` for a device.
    func directory(for keys: DeviceKeys) throws(UbiquitousStoreError) -> FilePath {
        if let contributions { return PathFacts.absolute(FilePath(contributions)) }
        return isPlace ? keys.reading : PathFacts.absolute(FilePath(root))
    }

    /// Creates an account in the container, with this device as its first.
    ///
    /// A store that is open begins to write as the account.
    ///
    /// - Parameter home: the device home, which gets the keys; nil for the user's own.
    /// - Returns: the account.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if this device has an account there, or reads a public place
    ///   without a directory for its own files; `notFound` if there is no such container; `Errno`.
    public func createAccount(home: DeviceHome? = nil) async throws -> AccountIdentifier {
        let home = try home ?? DeviceHome.standard()
        guard let identifier = ScopeIdentifier(container) else {
            throw UbiquitousStoreError(.unsupported, "\(container.debugDescription) is no identifier of 52 digits in base 32.")
        }
        guard !isPlace || contributions != nil else {
            throw UbiquitousStoreError(
                .unsupported,
                "The scope only reads the public place \(root), so an account could write nothing; name a directory with contributingTo that reaches the publisher."
            )
        }
        return try await blocking {
            let registration = ScopeRegistration(home: home, root: try directory(for: DeviceKeys(identifier, in: home)))
            if isPlace { try registration.makeDirectories(of: identifier) }
            return try registration.createAccount(in: identifier)
        }
    }
}

extension UbiquitousStore {
    /// Publishes the container to a directory that any web server serves, or any program uploads.
    ///
    /// Readers open it with its address as their scope. Each call publishes what is new since the last one. If that fails,
    /// or the process ends, the head before stays valid.
    ///
    /// - Parameters:
    ///   - directory: the directory of the public place, which is created.
    ///   - publishing: how long heads, bundles and snapshots are kept.
    /// - Returns: what has been published.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if this device's account does not hold the role
    ///   `ubiquity.publisher`, with `suspended` if the store waits for something, or with `timedOut` if another process
    ///   publishes there; `Errno` if the directory cannot be written to.
    public func publishPlace(to directory: FilePath, _ publishing: PlacePublishing = PlacePublishing()) async throws -> PublishedEdition {
        try await runner.publishPlace(to: PathFacts.absolute(directory), publishing)
    }

    /// Says who changes the records of a table that a new version of the app brings.
    ///
    /// Sign this before a device writes to the table: a log that names an earlier policy has no effect there. The rule of a
    /// table never changes. The owner holds a role that nobody has held yet.
    ///
    /// - Parameters:
    ///   - table: the name of the table.
    ///   - access: who changes its records, as the app declares it.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the table has another rule, or this device is not the container's
    ///   steward.
    public func addTable(_ table: String, access: TableAccess) async throws { _ = try await runner.addTable(table, access) }

    /// Gives a role in the container to an account.
    ///
    /// - Parameters:
    ///   - role: the name of the role, as tables declare it.
    ///   - account: the account.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if this device is not the container's steward.
    public func grant(_ role: String, to account: AccountIdentifier) async throws {
        _ = try await runner.signPolicy { $0.roles[role, default: []].insert(account) }
    }

    /// Takes a role in the container from an account.
    ///
    /// What this store has of the account's changes stays, without what is taken back. Later logs of the account have no
    /// effect on curated tables, also if they have an old date.
    ///
    /// - Parameters:
    ///   - role: the name of the role.
    ///   - account: the account.
    ///   - takingBack: the logs of the account whose changes of curated tables vanish everywhere.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if this device is not the container's steward, or if an earlier
    ///   removal has made a log permanent that is to be taken back; with `contentIncomplete` if a log of others is missing.
    public func take(_ role: String, from account: AccountIdentifier, takingBack: TakingBack = .nothing) async throws {
        _ = try await runner.signPolicy(takingBack: takingBack) { $0.roles[role]?.remove(account) }
    }

    /// Removes devices of this device's account in the container, such as a stolen one, with all devices that they have
    /// enrolled.
    ///
    /// What this store has of their records stays, without what is taken back. Their later logs have no effect, and neither
    /// have those of devices that they enrol.
    ///
    /// - Parameters:
    ///   - devices: the devices' peers.
    ///   - takingBack: the logs of these devices whose changes of the account's records vanish everywhere.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if this device does not have the account's key, or if an earlier
    ///   removal has made a log permanent that is to be taken back; with `contentIncomplete` if a log of others is missing;
    ///   with `notFound`.
    public func removeDevices(_ devices: Set<PeerIdentifier>, takingBack: TakingBack = .nothing) async throws {
        try await runner.removeDevices(devices, takingBack: takingBack)
    }

    /// Merges two policies of one number, which the steward has signed after a restore from a backup.
    ///
    /// The merged policy gives the rights on which both agree.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` if this device is not the container's steward.
    public func mergePolicies() async throws { _ = try await runner.signPolicy { _ in } }
}
