import StoreInspection
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// What the page can do when it was started with `--allow-actions`; each is a command that a person could type.
enum PageAction: String, Sendable, Codable, CaseIterable {
    /// Pauses and resumes the exchange of a store.
    case pause, resume
    /// Verifies a container.
    case verify
    /// Fetches a document, and removes it from this device.
    case fetch, evict
    /// Lets the transfer agent try again at once.
    case retry

    /// Returns the command of an action.
    ///
    /// - Parameters:
    ///   - target: the entry of the page; nil for the container.
    ///   - facts: the container as it is now; an entry that is not part of it is refused.
    /// - Returns: the program and its arguments; nil if there is no such entry, or the action is not for it.
    func command(for target: Target?, in facts: WatchFacts) -> [String]? {
        let home = facts.device.home.map { ["--home", $0] } ?? []
        switch (self, target) {
        case (.pause, .store(let content)), (.resume, .store(let content)):
            guard let store = facts.localStores.first(where: { $0.content == content }), store.actions.contains(self),
                let file = store.files.first(where: \.isInUse)
            else { return nil }
            return ["ubcontrol", "store", rawValue, file.summary.file]
        case (.verify, nil): return facts.presence == .gone ? nil : ["ubwatch", "verify", facts.path]
        case (.fetch, .item(let path)), (.evict, .item(let path)):
            guard facts.items.listed.contains(where: { $0.path == path && facts.actions(of: $0).contains(self) }) else { return nil }
            return ["ubcontrol", "item", rawValue] + (self == .fetch ? ["--no-wait"] : []) + home + [path]
        case (.retry, _): return facts.transport?.kind == .cloud ? ["ubcontrol", "transfer", "now"] + home : nil
        default: return nil
        }
    }

}

extension LocalStore {
    /// What can be done with the store.
    var actions: [PageAction] {
        guard let file = files.first(where: \.isInUse), file.summary.place == "account" else { return [] }
        return [file.summary.isPaused ? .resume : .pause]
    }
}

extension WatchFacts {
    /// What can be done with the container.
    var actions: [PageAction] { presence == .gone ? [] : transport?.kind == .cloud ? [.verify, .retry] : [.verify] }

    /// What can be done with an item.
    func actions(of line: ItemListing.Line) -> [PageAction] {
        guard transport?.kind == .cloud else { return [] }
        switch line.status {
        case .current: return line.isHere ? [.evict] : [.fetch]
        case .notDownloaded: return [.fetch]
        case .failed: return [.retry]
        default: return []
        }
    }

    /// What can be done with a row of a pane.
    func actions(of target: Target?) -> [PageAction] {
        switch target {
        case .store(let content): localStores.first { $0.content == content }?.actions ?? []
        default: []
        }
    }
}
