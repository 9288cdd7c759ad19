internal import Foundation
internal import SystemPackage
internal import Ubiquity

/// The account of the journal, and whether its posts reach the other devices.
public struct JournalStatus: Equatable, Sendable {
    /// The account; nil while nobody is signed in.
    public var account: String?
    /// Whether the account's other devices have not been read yet.
    public var isGathering = false
    /// Whether the exchange is paused.
    public var isOffline = false
    /// The reason why the container is not used; nil while it is there.
    public var suspension: String?
    /// The reason why the last exchange failed.
    public var failure: String?

    /// Makes a status.
    public init(account: String?, isGathering: Bool = false, isOffline: Bool = false, suspension: String? = nil, failure: String? = nil) {
        self.account = account
        self.isGathering = isGathering
        self.isOffline = isOffline
        self.suspension = suspension
        self.failure = failure
    }

    /// A line for people.
    public var line: String {
        guard let account else { return "this device · nobody is signed in" }
        if let suspension { return "\(account) · suspended: \(suspension)" }
        if isOffline { return "\(account) · offline" }
        if let failure { return "\(account) · \(failure)" }
        return isGathering ? "\(account) · reading" : "\(account) · online"
    }
}

// Each of these is one call of the library, except the wipe, which no library offers.
extension Journal {
    /// Returns the status now.
    public func status() async throws -> JournalStatus {
        let status = try await store.status()
        let place = await store.place
        var isGathering = false
        if case .fallback? = place { isGathering = true }
        return JournalStatus(
            account: place?.account?.description, isGathering: isGathering, isOffline: status.isPaused,
            suspension: status.suspended.map { "\(ContainerAttachment.detached($0))" }, failure: status.failure)
    }

    /// Stops the exchange with other devices until it is resumed; everything else continues.
    public func setOffline(_ isOffline: Bool) async throws {
        if isOffline { try await store.pause() } else { try await store.resume() }
    }

    /// Signs the device out.
    ///
    /// The account's posts stay on it, out of sight.
    public func signOut() throws { try home.signOut() }

    /// Signs the device in.
    ///
    /// Posts that were written while nobody was signed in join the account's.
    ///
    /// - Parameter name: the account. From then on its containers lie beside those of the account that is signed in now,
    ///   also if they lay elsewhere before; while nobody is signed in, where they lay on this device before.
    /// - Throws: `ContainerError` for a name that no account can have.
    public func signIn(_ name: String) throws {
        let account = try AccountName(name)
        try home.signIn(account, containers: home.containersRoot)
    }

    /// Deletes the container's directory, as `rm -r` would.
    ///
    /// The store then suspends, and keeps everything.
    public func wipe() throws {
        guard let account = try home.account, let root = try home.containersRoot else { return }
        let directory = root.appending(account.description).appending(Self.container)
        // A program that writes in the directory at this moment can make one attempt fail.
        for attempt in 1... {
            do {
                return try FileManager.default.removeItem(atPath: directory.string)
            } catch CocoaError.fileNoSuchFile {
                return
            } catch {
                if attempt == 100 { throw error }
            }
        }
    }

    /// Writes everything that this device holds into the container again, after a wipe.
    public func republish() async throws { try await store.answerWipe(.republish) }
}
