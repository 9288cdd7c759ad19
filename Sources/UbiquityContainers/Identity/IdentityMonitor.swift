internal import Foundation
internal import Synchronization
internal import SystemPackage
internal import TreeWatching

/// Notices when another account is signed in, or none.
///
/// A process has one monitor for each device home, as long as a listener exists, and permanently after it has looked up
/// a container there. While a monitor exists, every read of the signed-in account in the process uses ``read()``, so an
/// account that one caller has seen is reported to every listener. A sign-out followed quickly by a sign-in is
/// therefore reported unless no caller has read in between.
final class IdentityMonitor: Sendable {
    /// The token, or nil while signed out.
    typealias State = UbiquityIdentityToken?

    let home: DeviceHome
    let states: Broadcast<State>
    /// Tells that a container of the home has been suspended, or resumes.
    let suspensions = Broadcast<Void>(buffering: .bufferingNewest(1))
    private let last: Mutex<State>
    private let watcher: TreeWatcher
    /// Posts notifications, in order.
    private let poster: DispatchQueue
    private static let posting = DispatchSpecificKey<ObjectIdentifier>()

    /// The monitors in use, by home.
    private static let monitors = Mutex<[DeviceHome: Weak]>([:])

    private struct Weak: Sendable {
        weak let monitor: IdentityMonitor?
    }

    /// The monitors of the homes that the process used last.
    ///
    /// A process that has looked up a container hears of each later change of account.
    ///
    /// A process has one home. One that has many, such as a test, keeps a few.
    private static let kept = Mutex<[IdentityMonitor]>([])
    private static let keptLimit = 64

    /// Watches on, though nobody else wants to know.
    func keep() {
        let former = Self.kept.withLock { kept -> IdentityMonitor? in
            kept.removeAll { $0 === self }
            kept.append(self)
            return kept.count > Self.keptLimit ? kept.removeFirst() : nil
        }
        // Its end is not under the lock.
        withExtendedLifetime(former) {}
    }

    /// The home's monitor, if the process has one.
    static func existing(for home: DeviceHome) -> IdentityMonitor? { monitors.withLock { $0[home]?.monitor } }

    /// The home's monitor.
    ///
    /// - Throws: `ContainerError` where the home cannot be made, read or watched.
    static func shared(for home: DeviceHome) throws(ContainerError) -> IdentityMonitor {
        if let monitor = existing(for: home) { return monitor }
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
        // Only `account.json`, a file renamed over it, and `suspended` count. Other files, such as stores, change
        // often.
        options.exclude = ["/[!s]*/", "/s[!u]*/"]
        do {
            watcher = try TreeWatcher(home.path, options: options)
        } catch {
            throw ContainerError(.fileSystem, "The device home \(home.path) cannot be watched: \(error)", path: home.path, cause: error)
        }
        poster = DispatchQueue(label: "ubiquity.identity")
        let token = try home.readSignedIn()?.record.token
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
            if concerns { self?.checkSoon(after: .zero) }
        }
        poster.setSpecific(key: Self.posting, value: ObjectIdentifier(self))
    }

    deinit {
        watcher.close()
        states.close()
        suspensions.close()
    }

    /// Reads who is signed in, and tells everybody where that is another than was told last.
    ///
    /// Notifications are posted behind the call, so that it waits for nobody.
    ///
    /// - Throws: `ContainerError` where the home cannot be read.
    func read() throws(ContainerError) -> DeviceHome.SignedInAccount? { try look().account }

    /// Looks whether the account is another than was told last, and returns when everybody has been told; on the main thread they are
    /// told soon.
    ///
    /// - Returns: whether this call has found another.
    /// - Throws: `ContainerError` where the home cannot be read.
    @discardableResult
    func check() throws(ContainerError) -> Bool {
        let isOther = try look().isOther
        // An observer that asks is called by the queue itself, and one may wait for the main queue.
        if !Thread.isMainThread, DispatchQueue.getSpecific(key: Self.posting) != ObjectIdentifier(self) { poster.sync {} }
        return isOther
    }

    private func look() throws(ContainerError) -> (account: DeviceHome.SignedInAccount?, isOther: Bool) {
        // One look at a time: what is told last is what was read last.
        let result: Result<(DeviceHome.SignedInAccount?, Bool), ContainerError> = last.withLock { last in
            do throws(ContainerError) {
                let account = try home.readSignedIn()
                let token = account?.record.token
                guard token != last else { return .success((account, false)) }
                last = token
                states.post { present in
                    present = [token]
                    return token
                }
                poster.async { [path = home.path.string] in
                    NotificationCenter.default.post(name: .ubiquityIdentityDidChange, object: nil, userInfo: ["home": path])
                }
                return .success((account, true))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Looks in a while, and where the home cannot be read, again and again: nothing tells when it can be.
    ///
    /// A damaged file is an error for the caller that asks for the account.
    private func checkSoon(after pause: Duration) {
        let seconds = Double(pause.components.seconds)
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [weak self] in
            do {
                try self?.check()
            } catch {
                self?.checkSoon(after: min(max(pause * 2, .seconds(1)), .seconds(60)))
            }
        }
    }
}
