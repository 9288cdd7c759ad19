internal import FileCoordination
public import Foundation
public import SystemPackage

/// A directory for one account and one app, which a synchroniser copies to the user's other devices.
///
/// ```swift
/// let container = try await UbiquityContainer("org.example.notes")
/// let letter = container.documents.appending("Letter.txt")
/// ```
public struct UbiquityContainer: Sendable {
    /// The container's identifier.
    public let identifier: ContainerIdentifier
    /// The account that owns the container.
    public let account: AccountName
    /// This device's peer in it.
    public let peer: PeerIdentifier
    /// The device home of the signed-in account.
    public let home: DeviceHome
    /// The container's directory.
    public let path: FilePath
    package let files: any FileLayer
    /// Watches the account while the container is in use.
    let identity: IdentityMonitor?

    /// Finds the signed-in account's container, and creates it if this device has never used it.
    ///
    /// The first use creates the directory and writes this peer's attachment mark into it. Once the mark has been
    /// written, no part of the container is ever created again: a missing container may have been wiped or may arrive
    /// late, and `attachment()` reports it.
    ///
    /// - Parameters:
    ///   - identifier: such as `org.example.notes`, which also declares it; nil for the first of ``declared(in:)``.
    ///   - home: the device home; by default the user's.
    /// - Throws: `ContainerError`: `signedOut`, `invalidName`, `notDeclared`, `rootUnavailable`, or `fileSystem`.
    public init(_ identifier: String? = nil, home: DeviceHome? = nil) async throws(ContainerError) {
        try await self.init(identifier, home: home, files: LinuxFileLayer(), isWatching: true)
    }

    /// Finds the container with a given file layer, and does not watch the account unless asked to.
    package init(_ identifier: String?, home: DeviceHome?, files: any FileLayer, isWatching: Bool = false) async throws(ContainerError) {
        do {
            self = try await blocking { try UbiquityContainer(finding: identifier, home: home, files: files, isWatching: isWatching) }
        } catch let error as ContainerError {
            throw error
        } catch {
            throw ContainerError(.fileSystem, "The container \(identifier ?? "that is declared first") cannot be found.", cause: error)
        }
    }

    /// Finds the container; blocks.
    private init(finding name: String?, home given: DeviceHome?, files: any FileLayer, isWatching: Bool) throws(ContainerError) {
        let home: DeviceHome
        if let given { home = given } else { home = try DeviceHome.standard() }
        let identifier = try Self.identifier(name, in: home)
        // A caller that is signed out also needs to hear of a sign-in.
        let identity = isWatching ? try? IdentityMonitor.shared(for: home) : nil
        identity?.keep()
        guard let (account, record) = try home.signedIn else {
            throw ContainerError(
                .signedOut, "No account is signed in at \(home.path); sign in with: ubcontrol sign-in ACCOUNT --home \(home.path)", path: home.path)
        }
        let root = home.root(of: record)
        let homeFiles = HomeFiles(home: home)
        if let since = files.silence(of: root) {
            // A container that this device has used is known without a look at it.
            if let entry = record.peers[identifier.description], entry.attached, let peer = PeerIdentifier(entry.identifier) {
                self.init(identifier: identifier, account: account, peer: peer, home: home, root: root, files: files, identity: identity)
                return
            }
            throw ContainerError.silent(root, since: since)
        }
        if record.containersRoot != nil {
            try homeFiles.requireDirectory(root, as: "containers root")
        } else {
            try Self.makeDirectory(root, files)
        }
        let peer = try homeFiles.locked { () throws(ContainerError) in
            try Self.attach(identifier, account: account, root: root, homeFiles: homeFiles, files: files)
        }
        self.init(identifier: identifier, account: account, peer: peer, home: home, root: root, files: files, identity: identity)
    }

    /// The container of a scope, at `<root>/<account>/<identifier>`, where `account` names the kind of scope.
    ///
    /// Nothing is created, and the signed-in account does not matter.
    package init(
        scope identifier: ContainerIdentifier, kind account: AccountName, peer: PeerIdentifier, home: DeviceHome, root: FilePath, files: any FileLayer
    ) {
        self.init(identifier: identifier, account: account, peer: peer, home: home, root: root, files: files, identity: nil)
    }

    init(
        identifier: ContainerIdentifier, account: AccountName, peer: PeerIdentifier, home: DeviceHome, root: FilePath, files: any FileLayer,
        identity: IdentityMonitor?
    ) {
        self.identity = identity
        self.identifier = identifier
        self.account = account
        self.peer = peer
        self.home = home
        self.files = files
        path = Self.path(root: root, account: account, identifier: identifier)
        // The identifier may look like a package's name. Coordination uses paths without links.
        let directory = path.removingLastComponent()
        let resolved = files.silence(of: root) == nil ? PathFacts.resolved(directory) : directory
        let real = resolved.appending(identifier.description)
        FilePackages.addContainers([path, real])
        ItemSources.register(
            CloudItemSource(container: path, resolved: real, identifier: identifier.description, home: home),
            below: path == real ? [path] : [path, real])
    }

    /// The directory of items that the user sees; the app creates it.
    public var documents: FilePath { path.appending("Documents") }

    /// The container's directory as a URL.
    public var url: URL { URL(filePath: path.string, directoryHint: .isDirectory) }

    /// Checks whether this peer is still attached: the container exists and contains the peer's mark.
    ///
    /// - Returns: whether it is attached, or the missing part. Blocks for one or two system calls.
    public func attachment() -> ContainerAttachment {
        attachment(of: peer)
    }

    package func attachment(of peer: PeerIdentifier) -> ContainerAttachment {
        home.attachment(of: peer, in: identifier, account, at: path, files)
    }

    static func attachment(of peer: PeerIdentifier, at path: FilePath, _ files: any FileLayer) -> ContainerAttachment {
        if files.silence(of: path) != nil { return .detached(.silent) }
        do {
            let marks = path.appending(markDirectoryName)
            let container = try files.kind(of: path)
            // A link in place of a directory may lead anywhere, so nothing behind it is read.
            if container != nil, container != .directory { return .detached(.unreadable(.notDirectory)) }
            if container == .directory {
                guard try files.kind(of: marks) == .directory else { return .detached(.markGone) }
                return try files.kind(of: marks.appending(peer.description)) == .file ? .attached : .detached(.markGone)
            }
            if try files.kind(of: path.removingLastComponent().removingLastComponent()) == .directory { return .detached(.containerGone) }
            return .detached(.rootGone)
        } catch {
            return .detached(.unreadable(error))
        }
    }

    /// `.ubiquity`, the directory of the attachment marks.
    package var markDirectory: FilePath { path.appending(Self.markDirectoryName) }
    package static let markDirectoryName = ".ubiquity"
    /// The directory of the contents of the container's stores.
    package static let storesName = "CoreData"

    /// Returns the path of a container: `<root>/<account>/<container id>`.
    package static func path(root: FilePath, account: AccountName, identifier: ContainerIdentifier) -> FilePath {
        root.appending(account.description).appending(identifier.description)
    }

    /// Finds or creates this device's peer, and attaches it the first time.
    ///
    /// After a crash before the mark is written, the next call repeats every step. After a crash between the mark and
    /// the record, the next call writes the record.
    private static func attach(
        _ identifier: ContainerIdentifier, account: AccountName, root: FilePath, homeFiles: HomeFiles, files: any FileLayer
    ) throws(ContainerError) -> PeerIdentifier {
        let container = path(root: root, account: account, identifier: identifier)
        guard var record = try homeFiles.record(of: account) else {
            let file = homeFiles.recordFile(of: account)
            throw ContainerError(.malformed, "\(file) is missing although \(account) is signed in; sign in again.", path: file)
        }
        var entry = record.peers[identifier.description]
        if entry == nil {
            entry = .init(identifier: PeerIdentifier(account: account.description, uuid: files.newIdentifier()).description, attached: false)
            record.peers[identifier.description] = entry
            try homeFiles.write(record, of: account)
        }
        guard let peer = PeerIdentifier(entry!.identifier), peer.account == account.description else {
            let file = homeFiles.recordFile(of: account)
            throw ContainerError(.malformed, "\(file) names a peer of another account: \(entry!.identifier).", path: file)
        }
        let mark = container.appending(markDirectoryName).appending(peer.description)
        if entry!.attached {
            try checkRoot(entry!, root: root, container: container, mark: mark, files: files)
            if entry!.root != root.string {
                record.peers[identifier.description]!.root = root.string
                try homeFiles.write(record, of: account)
            }
            return peer
        }
        // The rule comes before any file that must not leave the device. A failure is left to the doctor, because the
        // container works without the rule.
        StignoreRule.ensure(above: root, files: files)
        for directory in [container.removingLastComponent(), container, container.appending(markDirectoryName)] {
            try makeDirectory(directory, files)
        }
        try AttachmentMark(peer: peer, home: homeFiles.home).write(into: container.appending(markDirectoryName), files: files)
        record.peers[identifier.description]!.attached = true
        record.peers[identifier.description]!.root = root.string
        try homeFiles.write(record, of: account)
        return peer
    }

    /// Checks the root: a peer that was attached below another root finds its container only if it has been moved to
    /// the new root.
    private static func checkRoot(
        _ entry: AccountRecord.Peer, root: FilePath, container: FilePath, mark: FilePath, files: any FileLayer
    ) throws(ContainerError) {
        guard let before = entry.root, before != root.string, (try? files.kind(of: mark)) != .file else { return }
        let old = FilePath(before).appending(container.removingLastComponent().lastComponent!).appending(container.lastComponent!)
        throw ContainerError(
            .rootUnavailable,
            "This device's container lies at \(old), and the containers root is \(root) now: move it to \(container), or sign in with --containers \(before).",
            path: container)
    }

    /// Creates the container's missing directories again on the user's request; the caller writes the marks.
    ///
    /// - Throws: `ContainerError` with `fileSystem`, or `rootUnavailable` if the containers root has changed since the
    ///   container was made.
    package func makeAgain() throws(ContainerError) {
        // A container below another root is not gone; it must be moved.
        let mark = markDirectory.appending(peer.description)
        if let record = try HomeFiles(home: home).record(of: account), let entry = record.peers[identifier.description] {
            try Self.checkRoot(entry, root: home.root(of: record), container: path, mark: mark, files: files)
        }
        for directory in [path.removingLastComponent(), path, markDirectory] { try Self.makeDirectory(directory, files) }
    }

    /// Returns the identifier for a name, or the first declared identifier.
    package static func identifier(_ name: String?, in home: DeviceHome) throws(ContainerError) -> ContainerIdentifier {
        if let name { return try ContainerIdentifier(name) }
        if let first = try declared(in: home).first { return first }
        throw ContainerError(
            .notDeclared, "No container is declared: name one, or list it in \(HomeFiles(home: home).configurationFile).", path: home.path)
    }

    private static func makeDirectory(_ path: FilePath, _ files: any FileLayer) throws(ContainerError) {
        do {
            try files.makeDirectory(path)
            // An existing entry may be a link that a synchroniser has brought.
            guard try files.kind(of: path) == .directory else { throw Errno.notDirectory }
        } catch {
            throw ContainerError(.fileSystem, "\(path) cannot be created; check its parent's owner, mode and free space.", path: path, cause: error)
        }
    }
}
