import Foundation
import SystemPackage
import TreeWatching
import UbiquityStores

/// Puts the changes of a container's tree into words.
struct ChangeTeller: Sendable {
    /// The container's directory.
    let container: String
    /// Short names of peers.
    var names = PeerNames()
    /// This device's peers in the container.
    var own: Set<String> = []

    init(container: String) { self.container = container }

    /// - Returns: the change in words; nil for what is no change.
    func tell(_ change: TreeChange) -> ContainerChange? {
        let components = change.time.components
        let time = Date(timeIntervalSince1970: Double(components.seconds) + Double(components.attoseconds) / 1e18)
        switch change.kind {
        case .ready, .rescanned, .attributes, .rootLost(.absent): return nil
        case .overflow: return new(time, .overflow, .container, "events were lost; what has changed meanwhile follows")
        case .rootLost(let loss): return new(time, .gone, .container, "the container is gone: \(Self.words(loss))")
        case .rootBack: return new(time, .back, .container, "the container is back")
        case .created, .modified, .removed, .moved:
            let path = relative(change.path)
            return tell(path, at: time, event(change), isDirectory: change.isDirectory, from: change.from.map(relative))
        }
    }

    /// What happened to a path.
    enum Event: Sendable {
        case came, changed, went, moved
    }

    private func event(_ change: TreeChange) -> Event {
        switch change.kind {
        case .removed: return .went
        case .modified: return .changed
        case .moved:
            // Published: written elsewhere and renamed into place.
            if let from = change.from.map(relative), ContainerPlace(from) == .draft { return .came }
            return .moved
        default: return .came
        }
    }

    /// - Parameters:
    ///   - path: from the container.
    ///   - time: when it happened.
    ///   - event: what happened to it.
    ///   - isDirectory: whether it is one.
    ///   - from: where it was before.
    /// - Returns: the change in words; nil for what is no change.
    func tell(_ path: String, at time: Date, _ event: Event, isDirectory: Bool, from: String?) -> ContainerChange? {
        let place = ContainerPlace(path)
        var change = new(time, .other, .everything, "")
        change.path = path
        change.isRemoved = event == .went
        let verb = Self.verb(event)
        let tail = event == .went ? " is gone" : ""
        switch place {
        case .container: return nil
        case .mark(let peer):
            (change.kind, change.level, change.peer) = (event == .went ? .detached : .attached, .container, peer)
            change.text = event == .went ? "the attachment mark of \(names[peer]) is gone" : "\(names[peer]) is attached"
        case .store(let store):
            (change.kind, change.level, change.store) = (.store, .container, store)
            change.text = event == .went ? "\(store): the store's directory is gone" : "\(store): a store's directory \(verb)"
        case .epochMark(let store, let epoch, let peer):
            (change.kind, change.level, change.store, change.epoch, change.peer) = (.epoch, .container, store, epoch, peer)
            change.text = event == .went ? "\(store): a mark of epoch \(epoch) is gone" : "\(store): epoch \(epoch), marked by \(names[peer])"
        case .log(let store, let peer, let epoch, let sequence):
            (change.kind, change.level, change.store, change.epoch, change.peer) = (.log, .file, store, epoch, peer)
            change.sequence = sequence
            change.text = "\(store): log \(sequence) of \(names[peer])\(tail)"
        case .baseline(let store, let peer, let epoch, let sequence):
            (change.kind, change.level, change.store, change.epoch, change.peer) = (.baseline, .file, store, epoch, peer)
            change.sequence = sequence
            change.text = "\(store): baseline \(sequence) of \(names[peer])\(tail)"
        case .receipt(let store, let peer, let epoch, let number):
            (change.kind, change.store, change.epoch, change.peer, change.sequence) = (.receipt, store, epoch, peer, number)
            change.text =
                event == .went ? "\(store): receipt \(number) of \(names[peer]) is gone" : "\(store): \(names[peer]) has read on (receipt \(number))"
        case .value(let store, let peer):
            (change.kind, change.store, change.peer) = (.value, store, peer)
            change.text = "\(store): a large value of \(names[peer])\(tail)"
        case .draft:
            change.kind = .draft
            change.text = "being written: \(path)\(event == .went ? ": done or dropped" : "")"
        case .item:
            (change.kind, change.level) = (.item, .file)
            let name = isDirectory ? path + "/" : path
            change.text = event == .moved ? "\(from ?? "?") is now \(name)" : "\(name) \(verb)"
        case .other:
            change.text = "\(path)\(isDirectory ? "/" : "") \(verb)"
        }
        if let peer = change.peer { change.isOwn = own.contains(peer) }
        return change
    }

    func new(_ time: Date, _ kind: ContainerChange.Kind, _ level: ContainerChange.Level, _ text: String) -> ContainerChange {
        ContainerChange(time: time, kind: kind, level: level, text: text, container: container)
    }

    private func relative(_ path: FilePath) -> String { String(path.string.dropFirst(container.count + 1)) }

    private static func verb(_ event: Event) -> String {
        switch event {
        case .came: "has come"
        case .changed: "has changed"
        case .went: "is gone"
        case .moved: "has moved here"
        }
    }

    private static func words(_ loss: TreeChange.RootLoss) -> String {
        switch loss {
        case .deleted: "it was deleted"
        case .moved: "it was moved away, or something else stands in its place"
        case .unmounted: "its file system was unmounted"
        case .absent: "it has not been there yet"
        case .unwatchable: "it cannot be watched; see its permissions and fs.inotify.max_user_watches"
        }
    }
}

/// Names of peers that people recognise.
struct PeerNames: Sendable, Equatable {
    private var devices: [String: String] = [:]

    init(_ facts: WatchFacts? = nil) {
        var devices: [String: String] = [:]
        for peer in facts?.stores.flatMap(\.peers) ?? [] { devices[peer.peer] = peer.device ?? devices[peer.peer] }
        // Where two have one name, neither says which it is.
        let counts = Dictionary(devices.values.map { ($0, 1) }, uniquingKeysWith: +)
        self.devices = devices.filter { counts[$0.value] == 1 }
    }

    /// The device's name where it has one of its own, else the beginning of the identifier.
    subscript(peer: String) -> String { devices[peer] ?? Self.short(peer) }

    /// `<account>~<the first eight digits>`.
    static func short(_ peer: String) -> String {
        guard let tilde = peer.lastIndex(of: "~") else { return peer }
        return String(peer[...tilde]) + peer[peer.index(after: tilde)...].prefix(8)
    }
}
