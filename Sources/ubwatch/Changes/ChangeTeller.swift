import Foundation
internal import StoreInspection
import SystemPackage
import TreeWatching
import UbiquityStores

/// Describes the changes of a container's tree in words.
struct ChangeTeller: Sendable {
    /// The container's directory.
    let container: String
    /// The short names of peers.
    var names = PeerNames()
    /// This device's peers in the container.
    var own: Set<String> = []

    init(container: String) { self.container = container }

    /// Describes a change.
    ///
    /// - Returns: the change in words; nil for an event that is no change.
    func tell(_ change: TreeChange) -> ContainerChange? {
        let components = change.time.components
        let time = Date(timeIntervalSince1970: Double(components.seconds) + Double(components.attoseconds) / 1e18)
        switch change.kind {
        case .ready, .rescanned, .attributes, .rootLost(.absent): return nil
        case .overflow: return new(time, .overflow, .container, "events were lost; the differences follow")
        case .rootLost(let loss): return new(time, .gone, .container, "the container is gone: \(Self.words(loss))")
        case .rootBack: return new(time, .back, .container, "the container is back")
        case .created, .modified, .removed, .moved:
            let path = relative(change.path)
            let from = change.from.map(relative)
            var told = tell(path, at: time, event(change), isDirectory: change.isDirectory, from: from)
            // A synchroniser writes an item beside its place.
            if told?.kind == .item, change.kind == .moved, let from, ContainerPlace(from) == .draft { told?.isOwn = false }
            return told
        }
    }

    /// The kinds of changes of a path.
    enum Event: Sendable {
        case came, changed, went, moved
    }

    private func event(_ change: TreeChange) -> Event {
        switch change.kind {
        case .removed: return .went
        case .modified: return .changed
        case .moved:
            // A published file is written elsewhere and renamed into place.
            if let from = change.from.map(relative), ContainerPlace(from) == .draft { return .came }
            return .moved
        default: return .came
        }
    }

    /// Describes a change of a path.
    ///
    /// - Parameters:
    ///   - path: the path, relative to the container.
    ///   - time: the time of the change.
    ///   - event: the kind of the change.
    ///   - isDirectory: whether the path is a directory.
    ///   - from: the previous path.
    /// - Returns: the change in words; nil for an event that is no change.
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
        case .moved: "it was moved away, or replaced by another entry"
        case .unmounted: "its file system was unmounted"
        case .absent: "it does not exist yet"
        case .unwatchable: "it cannot be watched; check its permissions and fs.inotify.max_user_watches"
        }
    }
}
