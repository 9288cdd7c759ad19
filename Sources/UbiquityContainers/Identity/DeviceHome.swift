internal import FileCoordination
public import Foundation
internal import Logging
public import SystemPackage
internal import TreeWatching

/// The directory in which this device keeps its accounts and, by default, its containers.
///
/// Files are read anew at each call: another process may have signed in or out meanwhile. Reading takes microseconds and waits
/// for nobody, so it may be done on any thread.
///
/// ```swift
/// let home = try DeviceHome.standard()
/// if let token = try home.ubiquityIdentityToken { … }
/// ```
public struct DeviceHome: Sendable, Hashable {
    /// Where it lies.
    public let path: FilePath

    /// A home at a directory that need not exist yet.
    public init(_ path: FilePath) {
        // Changes are told with paths in this form.
        self.path = PathFacts.absolute(path)
    }

    /// The user's home: `$UBIQUITY_HOME`, else `$XDG_DATA_HOME/ubiquity`, else `~/.local/share/ubiquity`.
    ///
    /// - Parameter environment: the process's own unless given.
    /// - Returns: the home; nothing is made yet.
    /// - Throws: `ContainerError` where none of the three variables is set.
    public static func standard(environment: [String: String] = ProcessInfo.processInfo.environment) throws(ContainerError) -> DeviceHome {
        if let home = environment["UBIQUITY_HOME"], !home.isEmpty { return DeviceHome(FilePath(home)) }
        // XDG base directories: a relative path is to be ignored.
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return DeviceHome(FilePath(data).appending("ubiquity")) }
        if let user = environment["HOME"], user.hasPrefix("/") { return DeviceHome(FilePath(user).appending(".local/share/ubiquity")) }
        throw ContainerError(.fileSystem, "No device home: set UBIQUITY_HOME to a directory.")
    }

    /// The signed-in account, or nil while signed out.
    ///
    /// - Throws: `ContainerError` where `account.json` cannot be read or understood.
    public var account: AccountName? {
        get throws(ContainerError) { try signedIn?.name }
    }

    /// The opaque token of the signed-in account, nil exactly while signed out, equal for one account on this device.
    ///
    /// - Throws: `ContainerError` where the home's files cannot be read or understood.
    public var ubiquityIdentityToken: UbiquityIdentityToken? {
        get throws(ContainerError) { try signedIn?.record.token }
    }

    /// The containers root of the signed-in account, or nil while signed out.
    ///
    /// - Throws: `ContainerError` where the home's files cannot be read or understood.
    public var containersRoot: FilePath? {
        get throws(ContainerError) { try signedIn.map { root(of: $0.record) } }
    }

    /// Signs in to an account, in the place of any other, whose presenters are told as ``signOut()`` does.
    ///
    /// - Parameters:
    ///   - name: the account.
    ///   - containers: where its containers lie, such as a folder that a synchroniser keeps: an existing directory. Nil keeps the
    ///     root that the account had on this device, at first `containers` in the home.
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
            // Before a container is used here. What hinders it is for the doctor to tell: an account works without.
            StignoreRule.ensure(above: self.root(of: record), files: files.files)
            try files.write(record, of: name)
            try files.write(SignedIn(account: name.description), to: files.accountFile)
            Logger.ubiquity.info("\(name): signed in at \(path)\(before.map { $0 == name ? ", as before" : ", in the place of \($0)" } ?? "")")
            return before == name ? nil : before
        }
    }

    /// Signs out.
    ///
    /// Nothing in any container changes. Presenters of items in the account's containers are told as by a deletion (U-79), behind this call;
    /// ``signOut(tellingWithin:)`` returns when they have heard, which a program that ends at once needs.
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
        Logger.ubiquity.info("\(name): signed out at \(path)")
        return name
    }

    /// Signs out, and tells presenters of items in the account's containers as by a deletion, in every process of this device (U-79).
    ///
    /// They are asked to accommodate the deletion, so that they close what they show; an objection is passed over, and nothing is deleted. They find the account
    /// signed out already.
    ///
    /// - Parameter deadline: how long presenters are waited for, in each container.
    /// - Returns: the account that was signed in, if any.
    /// - Throws: `ContainerError`.
    @discardableResult
    public func signOut(tellingWithin deadline: Duration) async throws(ContainerError) -> AccountName? {
        let before = try? signedIn
        let name = try signOutTellingNobody()
        if let before { await tellPresenters(of: before, within: deadline) }
        return name
    }

    /// Signs in as ``signIn(_:containers:)`` does, and tells presenters in containers of the account that was signed in before as by a deletion (U-79).
    ///
    /// - Parameters:
    ///   - name: the account.
    ///   - containers: where its containers lie; nil keeps the root that it had.
    ///   - deadline: how long presenters are waited for, in each container.
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

    /// Tells presenters of items in the containers of an account that is signed out, and waits for nobody.
    private func tellPresentersSoon(of account: (name: AccountName, record: AccountRecord)) {
        guard !account.record.peers.isEmpty, FileCoordinator.canBePresented else { return }
        Task.detached { await tellPresenters(of: account, within: .seconds(10)) }
    }

    /// The purpose of the accesses by which presenters hear of a sign-out, and nothing is deleted.
    static let signOutPurpose = "org.ubiquity.sign-out"

    private func tellPresenters(of account: (name: AccountName, record: AccountRecord), within deadline: Duration) async {
        let root = root(of: account.record)
        await withTaskGroup(of: Void.self) { group in
            for identifier in account.record.peers.keys.compactMap({ try? ContainerIdentifier($0) }) {
                let path = UbiquityContainer.path(root: root, account: account.name, identifier: identifier)
                group.addTask {
                    // It may be signed in again by now.
                    guard (try? self.account) != account.name else { return }
                    // A claim to delete, as which nothing is done: what its presenters answer changes nothing.
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
    /// Where the process watches the home, all who watch are told what this call has found: nobody acts upon an account that others never hear of.
    package var signedIn: SignedInAccount? {
        get throws(ContainerError) {
            if let monitor = IdentityMonitor.existing(for: self) { return try monitor.read() }
            return try readSignedIn()
        }
    }

    /// Reads `account.json`, and tells nobody.
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

    /// Where what was set aside is kept, with reasons.
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
