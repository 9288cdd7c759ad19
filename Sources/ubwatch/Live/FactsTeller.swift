import Foundation
internal import StoreInspection

/// Describes in words the differences between two inspections of a container that are not changes of a file.
struct FactsTeller {
    let teller: ChangeTeller

    /// Describes the differences.
    ///
    /// - Parameters:
    ///   - old: the earlier facts; nil at the beginning.
    ///   - new: the current facts.
    /// - Returns: the changes, most important first.
    func tell(from old: WatchFacts?, to new: WatchFacts) -> [ContainerChange] {
        var changes: [ContainerChange] = []
        func add(_ kind: ContainerChange.Kind, _ text: String, store: String? = nil) {
            var change = teller.new(new.time, kind, .container, text)
            change.store = store
            changes.append(change)
        }
        if old?.presence != new.presence {
            switch new.presence {
            case .there: if old?.presence == .unmarked { add(.back, "this device's attachment mark is back") }
            case .unmarked:
                if new.device.peer != nil { add(.gone, "the container is there without this device's attachment mark: it has been wiped") }
            case .replaced: add(.gone, "the container is another directory than before")
            case .gone: if old == nil { add(.gone, "the container is gone") }
            }
        }
        if old?.state != new.state || old?.reasons.first != new.reasons.first {
            add(.state, ([new.state.words] + new.reasons.prefix(1).map(teller.names.naming)).joined(separator: ": "))
        }
        for store in new.localStores {
            let before = old?.localStores.first { $0.path == store.path }
            if let before, before.usesLocalStorage != store.usesLocalStorage {
                add(.store, "\(store.content): local storage \(store.usesLocalStorage ? 1 : 0)", store: store.content)
            }
        }
        for kind in WatchFacts.Trouble.Kind.allCases {
            let (before, now) = (old?.troubles.counts[kind.rawValue] ?? 0, new.troubles.counts[kind.rawValue] ?? 0)
            guard before != now else { continue }
            add(.trouble, "\(kind.words): \(now)\(old == nil ? "" : ", \(before) before")")
        }
        return changes
    }
}

extension WatchFacts.Trouble.Kind {
    /// The kind in words.
    var words: String {
        switch self {
        case .copy: "copies that lost a conflict"
        case .conflict: "values that lost a conflict"
        case .held: "records held"
        case .quarantined: "files quarantined"
        case .kept: "set aside"
        }
    }
}
