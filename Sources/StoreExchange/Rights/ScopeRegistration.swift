package import Foundation
internal import StoreAuthority
package import StoreFormat
internal import StoreRecords
package import SystemPackage
package import UbiquityContainers

/// Creates public containers, accounts in them, and devices of accounts, with the keys of this device's home.
package struct ScopeRegistration: Sendable {
    package let home: DeviceHome
    /// The directory that holds `public/<container>`.
    package let root: FilePath
    private let files: any FileLayer

    package init(home: DeviceHome, root: FilePath, files: any FileLayer = LinuxFileLayer()) {
        (self.home, self.root, self.files) = (home, PathFacts.absolute(root), files)
    }

    /// Makes the directories of a container of which this device has only its own files.
    ///
    /// - Throws: `Errno`.
    package func makeDirectories(of container: ScopeIdentifier) throws(Errno) {
        let directory = directory(container)
        var way: [FilePath] = []
        var parent = root
        while try files.kind(of: parent) == nil, parent.lastComponent != nil {
            way.insert(parent, at: 0)
            parent = parent.removingLastComponent()
        }
        for folder in way + [directory.path.removingLastComponent(), directory.path, directory.authority, directory.accounts] {
            try files.makeDirectory(folder)
        }
    }

    package func keys(_ container: ScopeIdentifier) -> DeviceKeys { DeviceKeys(container, in: home) }

    package func directory(_ container: ScopeIdentifier) -> ScopeDirectory {
        ScopeDirectory(root.appending(DeviceKeys.readerName).appending(container.description), container, files)
    }

    /// What a new container begins with.
    package struct Beginning: Sendable {
        package var access: [String: TableAccess] = [:]
        package var admission = Policy.Admission.open
        package var heirs: Set<PublicKey> = []
        package init() {}
    }

    /// Creates a public container, whose owner and steward are a new account and this device.
    ///
    /// A crash leaves no container, one without statements that nobody knows, or a whole one.
    ///
    /// - Parameter beginning: what its first policy says.
    /// - Returns: the container and the owner's account.
    /// - Throws: `UbiquitousStoreError`, or `Errno`.
    package func createContainer(_ beginning: Beginning) throws -> (container: ScopeIdentifier, owner: AccountIdentifier) {
        let (identity, device, uuid) = (PrivateKey(), PrivateKey(), UUID())
        // The owner holds every role at first.
        let roles = Set(
            beginning.access.values.compactMap { access in if case .role(let role) = access { role } else { nil } }
                + [StoreMetadata.role, Moderation.role, PublishedHead.role])
        let (statement, owner, peer) = Self.firstStatement(identity, device, uuid)
        var policy = Policy(version: 1, predecessor: nil, owner: owner, steward: device.publicKey, stewardPeer: peer)
        policy.access = beginning.access
        policy.access[StoreMetadata.table] = .role(StoreMetadata.role)
        policy.access[Moderation.table] = .role(Moderation.role)
        policy.admission = beginning.admission
        policy.heirs = beginning.heirs
        policy.roles = roles.reduce(into: [:]) { $0[$1] = [owner] }
        policy.pins = [owner: StatementIdentifier(owner.hash)]
        let draft = policy.draft(by: device.publicKey)
        let container = ScopeIdentifier(draft.hash)
        let keys = keys(container)
        try write(identity, device, uuid, owner, peer, to: keys)
        let directory = directory(container)
        for folder in [root.appending(DeviceKeys.readerName), directory.path, directory.accounts] { try files.makeDirectory(folder) }
        try directory.write(statement.signed(with: identity, in: container))
        try directory.write(draft.signed(with: device, in: container))
        for folder in [directory.path, root.appending(DeviceKeys.readerName), root] { try files.syncDirectory(folder) }
        return (container, owner)
    }

    /// Creates an account in a container, with this device as its first.
    ///
    /// A crash leaves nothing, or keys with which the next call goes on.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` if this device has an account there, `notFound` if there is no
    ///   such container; `Errno`.
    package func createAccount(in container: ScopeIdentifier) throws -> AccountIdentifier {
        let keys = try existingKeys(container)
        var (identity, device) = (PrivateKey(), PrivateKey())
        if try keys.record?.account != nil {
            guard try isUnfinished(keys, container), let begun = try keys.identityKey, let first = try keys.deviceKey else {
                throw hasAccount(container)
            }
            (identity, device) = (begun, first)
        }
        let uuid = try keys.record(at: root).device
        let (statement, account, peer) = Self.firstStatement(identity, device, uuid)
        try write(identity, device, uuid, account, peer, to: keys)
        try directory(container).write(statement.signed(with: identity, in: container))
        return account
    }

    /// Returns whether a process died between writing the keys of a new account and its first statement.
    private func isUnfinished(_ keys: DeviceKeys, _ container: ScopeIdentifier) throws -> Bool {
        guard let record = try keys.record, let identity = try keys.identityKey, let device = try keys.deviceKey else { return false }
        let (_, account, peer) = Self.firstStatement(identity, device, record.device)
        guard record.account == account.description, record.peer == peer.description else { return false }
        return try directory(container).readAuthority().statement(of: account) == nil
    }

    /// Gives this device an account again whose identity key its owner has kept, as after the loss of all its devices.
    ///
    /// The identity key enrols this device. A crash leaves nothing, or keys with which the next call goes on.
    ///
    /// - Parameters:
    ///   - identity: the account's private key.
    ///   - container: the container.
    /// - Returns: the account.
    /// - Throws: `UbiquitousStoreError` with `notFound` if no account there has the key, or `unsupported` if this device has
    ///   an account; `Errno`.
    package func recoverAccount(_ identity: PrivateKey, in container: ScopeIdentifier) throws -> AccountIdentifier {
        let keys = try existingKeys(container)
        let authority = try directory(container).readAuthority()
        guard let account = authority.knownAccounts.sorted().first(where: { authority.statement(of: $0)?.value.identity == identity.publicKey }),
            let statement = authority.statement(of: account)
        else {
            throw UbiquitousStoreError(
                .notFound,
                "No account in the container \(container) has this key, as far as its statements are here; check the key, and wait until the container is whole."
            )
        }
        var record = try keys.record(at: root)
        let peer: PeerIdentifier
        let device: PrivateKey
        if let own = record.account {
            guard own == account.description, let begun = PeerIdentifier(record.peer), let key = try keys.deviceKey,
                authority.certificate(of: begun, key: key.publicKey, in: account) == nil
            else { throw hasAccount(container) }
            (peer, device) = (begun, key)
        } else {
            (peer, device) = (PeerIdentifier(account: account.description, uuid: UUID()), PrivateKey())
        }
        (record.peer, record.account, record.key) = (peer.description, account.description, device.publicKey.description)
        try keys.write(identityKey: identity)
        try keys.write(deviceKey: device)
        try keys.write(record)
        let enrolment = Enrolment(account: account, statement: statement.id, device: peer, key: device.publicKey)
        try directory(container).write(enrolment.signed(with: identity, in: container))
        return account
    }

    /// Admits an account to a container, as its registrar.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` if every account may contribute, or this home's key is no
    ///   registrar's; `Errno`.
    package func admitAccount(_ account: AccountIdentifier, in container: ScopeIdentifier) throws {
        let keys = try existingKeys(container)
        guard let policy = try directory(container).readAuthority().policy else {
            throw UbiquitousStoreError(.notFound, "The container \(container) has no policy here yet; wait until it has arrived.")
        }
        guard case .registrars(let registrars) = policy.value.admission else {
            throw UbiquitousStoreError(.unsupported, "Every account may contribute to the container \(container), so none is admitted.")
        }
        guard let key = try keys.home.key(.registrar), registrars.contains(key.publicKey) else {
            throw UbiquitousStoreError(
                .unsupported,
                "This device home has no key of a registrar of the container \(container); its steward names one with: ubcontrol public admission STORE registrars --key KEY"
            )
        }
        try directory(container).write(Admittance(account: account, policy: policy.id).signed(with: key, in: container))
    }

    /// Makes the keys of this device for an account that another device has, and returns the code with which that device
    /// admits it.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` if this device has an account there.
    package func prepareDevice(of account: AccountIdentifier, in container: ScopeIdentifier) throws -> DeviceCode {
        let keys = try freeKeys(container)
        var record = try keys.record(at: root)
        let key = PrivateKey()
        // The name of a removed peer is never used again.
        let peer = PeerIdentifier(account: account.description, uuid: UUID())
        (record.peer, record.account, record.key) = (peer.description, account.description, key.publicKey.description)
        try keys.write(deviceKey: key)
        try keys.write(record)
        return DeviceCode(device: peer, key: key.publicKey)
    }

    /// Enrols another device of this device's account.
    ///
    /// - Parameters:
    ///   - code: the code that the other device has made.
    ///   - container: the container.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if this device may not enrol, or the code is another account's.
    package func admit(_ code: DeviceCode, in container: ScopeIdentifier) throws {
        let (keys, directory) = (keys(container), directory(container))
        let authority = try directory.readAuthority()
        guard let record = try keys.record, let account = record.account.flatMap(AccountIdentifier.init), let peer = PeerIdentifier(record.peer),
            let key = try keys.deviceKey, let statement = authority.statement(of: account),
            let certificate = authority.certificate(of: peer, key: key.publicKey, in: account)
        else {
            throw UbiquitousStoreError(.unsupported, "This device is not enrolled in the container \(container), so it cannot enrol another one.")
        }
        guard code.device.account == account.description else {
            throw UbiquitousStoreError(
                .unsupported, "The code is of a device for the account \(code.device.account), and this device has \(account).")
        }
        let enrolment = Enrolment(
            account: account, statement: statement.id, sponsor: peer, certificate: certificate, device: code.device, key: code.key)
        try directory.write(enrolment.signed(with: key, in: container))
    }

    /// Returns the devices of an account, with their keys, by the statements that are here.
    package func devices(of account: AccountIdentifier, in container: ScopeIdentifier) throws -> [PeerIdentifier: PublicKey] {
        try directory(container).readAuthority().deviceKeys(of: account)
    }

    /// Returns the keys for a container that is here and in which this device has no account.
    private func freeKeys(_ container: ScopeIdentifier) throws -> DeviceKeys {
        let keys = try existingKeys(container)
        guard try keys.record?.account == nil else { throw hasAccount(container) }
        return keys
    }

    private func hasAccount(_ container: ScopeIdentifier) -> UbiquitousStoreError {
        UbiquitousStoreError(.unsupported, "This device has an account in the container \(container) already.")
    }

    /// Returns the keys for a container that is here.
    private func existingKeys(_ container: ScopeIdentifier) throws -> DeviceKeys {
        guard try files.kind(of: directory(container).path) == .directory else {
            throw UbiquitousStoreError(
                .notFound, "There is no container at \(directory(container).path); check the identifier and the directory.",
                path: directory(container).path)
        }
        return keys(container)
    }

    /// Returns the first statement of a new account, which names one device.
    ///
    /// - Parameters:
    ///   - identity: the account's key.
    ///   - device: the device's key.
    ///   - uuid: tells the device apart from others.
    /// - Returns: the statement, the account and the name of the device.
    package static func firstStatement(
        _ identity: PrivateKey, _ device: PrivateKey, _ uuid: UUID
    ) -> (AccountStatement, AccountIdentifier, PeerIdentifier) {
        // The statement's hash is the account, so the statement names devices without it.
        let named = PeerIdentifier(account: AccountStatement.unnamed, uuid: uuid)
        let statement = AccountStatement(
            account: nil, version: 1, predecessor: nil, identity: identity.publicKey, devices: [named: device.publicKey])
        let account = AccountIdentifier(statement.draft(by: identity.publicKey).hash)
        return (statement, account, PeerIdentifier(account: account.description, uuid: uuid))
    }

    private func write(
        _ identity: PrivateKey, _ device: PrivateKey, _ uuid: UUID, _ account: AccountIdentifier, _ peer: PeerIdentifier, to keys: DeviceKeys
    ) throws {
        try keys.write(identityKey: identity)
        try keys.write(deviceKey: device)
        try keys.write(
            .init(device: uuid, peer: peer.description, account: account.description, key: device.publicKey.description, root: root.string))
    }
}
