internal import FileCoordination
public import Foundation
internal import Logging
public import SystemPackage
internal import TreeWatching

/// The directory in which this device stores its accounts and, by default, its containers.
///
/// Each call reads the files again, because another process may have signed in or out meanwhile. Reading takes
/// microseconds and never waits, so any thread may do it.
///
/// ```swift
/// let home = try DeviceHome.standard()
/// if let token = try home.ubiquityIdentityToken { … }
/// ```
public struct DeviceHome: Sendable, Hashable {
    /// The directory.
    public let path: FilePath

    /// Makes a home from a directory that need not exist yet.
    public init(_ path: FilePath) {
        // Changes are reported with paths in this form.
        self.path = PathFacts.absolute(path)
    }

    /// Returns the user's home: `$UBIQUITY_HOME`, else `$XDG_DATA_HOME/ubiquity`, else `~/.local/share/ubiquity`.
    ///
    /// - Parameter environment: the environment; by default that of the process.
    /// - Returns: the home; nothing is created yet.
    /// - Throws: `ContainerError` when none of the three variables is set.
    public static func standard(environment: [String: String] = ProcessInfo.processInfo.environment) throws(ContainerError) -> DeviceHome {
        if let home = environment["UBIQUITY_HOME"], !home.isEmpty { return DeviceHome(FilePath(home)) }
        // The XDG specification of base directories says to ignore a relative path.
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return DeviceHome(FilePath(data).appending("ubiquity")) }
        if let user = environment["HOME"], user.hasPrefix("/") { return DeviceHome(FilePath(user).appending(".local/share/ubiquity")) }
        throw ContainerError(.fileSystem, "No device home: set UBIQUITY_HOME to a directory.")
    }

    /// The signed-in account, or nil while signed out.
    ///
    /// - Throws: `ContainerError` when `account.json` cannot be read or understood.
    public var account: AccountName? {
        get throws(ContainerError) { try signedIn?.name }
    }

    /// The opaque token of the signed-in account: nil exactly while signed out, and equal for one account on this
    /// device.
    ///
    /// - Throws: `ContainerError` when the home's files cannot be read or understood.
    public var ubiquityIdentityToken: UbiquityIdentityToken? {
        get throws(ContainerError) { try signedIn?.record.token }
    }

    /// The containers root of the signed-in account, or nil while signed out.
    ///
    /// - Throws: `ContainerError` when the home's files cannot be read or understood.
    public var containersRoot: FilePath? {
        get throws(ContainerError) { try signedIn.map { root(of: $0.record) } }
    }

    /// Signs in to an account and replaces any other; presenters of the other account are told as ``signOut()`` does.
    ///
    /// - Parameters:
    ///   - name: the account.
    ///   - containers: the directory of its containers, such as a synchronised folder; it must exist. Nil keeps the
    ///     account's root on this device, which is at first `containers` in the home.
    /// - Returns: the account that was signed in before, if any.
    /// - Throws: `ContainerError`; nothing has changed then.
    @discardableResult
    public func signIn(_ name: AccountName, containers: FilePath? = nil) throws(ContainerError) -> AccountName? {
        let before = try? signedIn
        let replaced = try signInTellingNobody(name, containers: containers)
        if let before, replaced != nil { tellPresentersSoon(of: before) }
        return replaced
    }

    private func signInTellingNobody(_ name: AccountName, containers: FilePath?) throws(ContainerError) -> AccountName? {
        let files = HomeFiles(home: self)
        try files.prepare()
        var root: FilePath?
        if let containers {
            let absolute = containers.isRelative ? FilePath(FileManager.default.currentDirectoryPath).pushing(containers) : containers
            try files.requireDirectory(absolute, as: "containers root")
            root = absolute.lexicallyNormalized()
        }
        return try files.locked { () throws(ContainerError) in
            let before = try? account
            var record = try files.record(of: name) ?? AccountRecord(token: UbiquityIdentityToken(UUID()))
            if let root { record.containersRoot = root.string }
            // The rule comes before any container is used here. A failure is left to the doctor, because an account
            // works without the rule.
            StignoreRule.ensure(above: self.root(of: record), files: files.files)
            try files.write(record, of: name)
            try files.write(SignedIn(account: name.description), to: files.accountFile)
            Logger.ubiquity.info(
                "\(name): signed in at \(path)\(before.map { $0 == name ? ", as before" : ", in the place of \($0)" } ?? "")",
                metadata: .facts([.event: "signedIn", .account: name.description, .path: path.string]))
            return before == name ? nil : before
        }
    }

    /// Signs out.
    ///
    /// No container changes. Presenters of items in the account's containers are told as by a deletion, after this call
    /// returns. A program that ends at once needs ``signOut(tellingWithin:)``, which returns after they have been told.
    ///
    /// - Returns: the account that was signed in, if any.
    /// - Throws: `ContainerError`.
    @discardableResult
    public func signOut() throws(ContainerError) -> AccountName? {
        let before = try? signedIn
        let name = try signOutTellingNobody()
        if let before, name != nil { tellPresentersSoon(of: before) }
        return name
    }

    private func signOutTellingNobody() throws(ContainerError) -> AccountName? {
        let files = HomeFiles(home: self)
        guard let name = try account else { return nil }
        try files.locked { () throws(ContainerError) in try files.removeAccountFile() }
        Logger.ubiquity.info(
            "\(name): signed out at \(path)",
            metadata: .facts([.event: "signedOut", .account: name.description, .path: path.string]))
        return name
    }

    /// Signs out, and tells presenters of items in the account's containers as by a deletion, in every process of this
    /// device.
    ///
    /// Presenters are asked to accommodate the deletion, so that they close their items. An objection has no effect,
    /// and nothing is deleted. At that time the account is already signed out.
    ///
    /// - Parameter deadline: the limit of the wait for presenters, for each container.
    /// - Returns: the account that was signed in, if any.
    /// - Throws: `ContainerError`.
    @discardableResult
    public func signOut(tellingWithin deadline: Duration) async throws(ContainerError) -> AccountName? {
        let before = try? signedIn
        let name = try signOutTellingNobody()
        if let before { await tellPresenters(of: before, within: deadline) }
        return name
    }

    /// Signs in as ``signIn(_:containers:)`` does, and tells presenters in the previous account's containers as by a
    /// deletion.
    ///
    /// - Parameters:
    ///   - name: the account.
    ///   - containers: the directory of its containers; nil keeps the account's root.
    ///   - deadline: the limit of the wait for presenters, for each container.
    /// - Returns: the account that was signed in before, if any.
    /// - Throws: `ContainerError`; nothing has changed then.
    @discardableResult
    public func signIn(
        _ name: AccountName, containers: FilePath? = nil, tellingWithin deadline: Duration
    ) async throws(ContainerError) -> AccountName? {
        let before = try? signedIn
        let replaced = try signInTellingNobody(name, containers: containers)
        if let before, replaced != nil { await tellPresenters(of: before, within: deadline) }
        return replaced
    }

    /// Tells presenters of items in the containers of a signed-out account, without waiting.
    private func tellPresentersSoon(of account: (name: AccountName, record: AccountRecord)) {
        guard !account.record.peers.isEmpty, FileCoordinator.canBePresented else { return }
        Task.detached { await tellPresenters(of: account, within: .seconds(10)) }
    }

    /// The purpose of the accesses that report a sign-out to presenters; nothing is deleted.
    static let signOutPurpose = "org.ubiquity.sign-out"

    private func tellPresenters(of account: (name: AccountName, record: AccountRecord), within deadline: Duration) async {
        let root = root(of: account.record)
        await withTaskGroup(of: Void.self) { group in
            for identifier in account.record.peers.keys.compactMap({ try? ContainerIdentifier($0) }) {
                let path = UbiquityContainer.path(root: root, account: account.name, identifier: identifier)
                group.addTask {
                    // The account may have signed in again.
                    guard (try? self.account) != account.name else { return }
                    // A claim to delete under which nothing happens, so presenters' answers change nothing.
                    let coordinator = FileCoordinator()
                    coordinator.purposeIdentifier = Self.signOutPurpose
                    try? await coordinator.write(
                        URL(filePath: path.string, directoryHint: .isDirectory), options: .forDeleting, deadline: .after(deadline)
                    ) { _ in }
                }
            }
        }
    }

    /// The signed-in account's name and record.
    package typealias SignedInAccount = (name: AccountName, record: AccountRecord)

    /// The signed-in account.
    ///
    /// If the process watches the home, all observers are told the result of this call: no caller acts on an account
    /// that observers never hear of.
    package var signedIn: SignedInAccount? {
        get throws(ContainerError) {
            if let monitor = IdentityMonitor.existing(for: self) { return try monitor.read() }
            return try readSignedIn()
        }
    }

    /// Reads `account.json` without telling observers.
    func readSignedIn() throws(ContainerError) -> SignedInAccount? {
        let files = HomeFiles(home: self)
        guard let signedIn = try files.read(SignedIn.self, from: files.accountFile) else { return nil }
        let name = try AccountName(signedIn.account)
        guard let record = try files.record(of: name) else {
            throw ContainerError(
                .malformed, "\(files.recordFile(of: name)) is missing although \(name) is signed in; sign in again.",
                path: files.recordFile(of: name))
        }
        return (name, record)
    }

    /// The directory for items that were set aside, with reasons.
    package var kept: FilePath { path.appending("kept") }

    package func root(of record: AccountRecord) -> FilePath {
        record.containersRoot.map { FilePath($0).lexicallyNormalized() } ?? path.appending("containers")
    }
}

/// `account.json`.
struct SignedIn: Codable, HomeFormat {
    var format = HomeFormatVersion.current
    var account: String
}
