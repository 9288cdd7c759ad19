internal import Foundation
internal import Synchronization
internal import SystemPackage
internal import TreeWatching

/// Notices when another account is signed in, or none: one for each device home that a process uses, for as long as somebody wants to know.
final class IdentityMonitor: Sendable {
    /// A token, or that there is none.
    typealias State = UbiquityIdentityToken?

    let home: DeviceHome
    let states: Broadcast<State>
    /// Tells that a container of the home has been suspended, or resumes.
    let suspensions = Broadcast<Void>(buffering: .bufferingNewest(1))
    private let last: Mutex<State>
    private let watcher: TreeWatcher

    /// Those that are in use, by home.
    private static let monitors = Mutex<[DeviceHome: Weak]>([:])

    private struct Weak: Sendable {
        weak let monitor: IdentityMonitor?
    }

    /// The home's monitor.
    ///
    /// - Throws: `ContainerError` where the home cannot be made, read or watched.
    static func shared(for home: DeviceHome) throws(ContainerError) -> IdentityMonitor {
        if let monitor = monitors.withLock({ $0[home]?.monitor }) { return monitor }
        let new = try IdentityMonitor(home)
        return monitors.withLock { monitors in
            if let other = monitors[home]?.monitor { return other }
            monitors = monitors.filter { $0.value.monitor != nil }
            monitors[home] = Weak(monitor: new)
            return new
        }
    }

    private init(_ home: DeviceHome) throws(ContainerError) {
        self.home = home
        try HomeFiles(home: home).prepare()
        var options = TreeWatcher.Options()
        // Only `account.json`, what is renamed over it, and `suspended` count. Whatever else lies there, such as an app's store, is written all the time.
        options.exclude = ["/[!s]*/", "/s[!u]*/"]
        do {
            watcher = try TreeWatcher(home.path, options: options)
        } catch {
            throw ContainerError(.fileSystem, "The device home \(home.path) cannot be watched: \(error)", path: home.path, cause: error)
        }
        let token = try home.ubiquityIdentityToken
        last = Mutex(token)
        states = Broadcast(present: token)
        let watched = home.path.appending("account.json")
        watcher.tap { [weak self] batch in
            let concerns = batch.contains { change in
                switch change.kind {
                case .created, .modified, .moved, .removed: change.path == watched || change.from == watched
                case .attributes: false
                default: true
                }
            }
            let suspended = home.path.appending(HomeFiles.suspendedDirectoryName)
            if batch.contains(where: { $0.path.starts(with: suspended) || $0.kind == .rescanned }) { self?.suspensions.post { _ in () } }
            // A file that is damaged is another's to report: who asks for the token is told.
            if concerns { DispatchQueue.global().async { [weak self] in _ = try? self?.check() } }
        }
    }

    deinit {
        watcher.close()
        states.close()
        suspensions.close()
    }

    /// Looks whether the account is another than before, and tells everybody.
    ///
    /// - Returns: whether it is.
    /// - Throws: `ContainerError` where the home cannot be read.
    @discardableResult
    func check() throws(ContainerError) -> Bool {
        // One look at a time: what is told last is what was read last.
        let result: Result<Bool, ContainerError> = last.withLock { last in
            do throws(ContainerError) {
                let token = try home.ubiquityIdentityToken
                guard token != last else { return .success(false) }
                last = token
                states.post { present in
                    present = [token]
                    return token
                }
                return .success(true)
            } catch {
                return .failure(error)
            }
        }
        let isOther = try result.get()
        if isOther { NotificationCenter.default.post(name: .ubiquityIdentityDidChange, object: nil, userInfo: ["home": home.path.string]) }
        return isOther
    }
}
