import Foundation
import SystemPackage
import UbiquityContainers

/// A state of a query with what has changed, for its observers.
struct QueryNews: Sendable {
    var kind: MetadataQueryUpdate.Kind
    var added: [MetadataItem] = []
    var changed: [MetadataItem] = []
    var removed: [MetadataItem] = []
    var results: [MetadataItem] = []

    init(_ kind: MetadataQueryUpdate.Kind) { self.kind = kind }

    init(_ update: MetadataQueryUpdate) {
        kind = update.kind
        (added, changed, removed, results) = (update.added, update.changed, update.removed, update.results)
    }

    /// Whether everything has left the results, as at a sign-out, which observers hear of even while updates are disabled.
    var isEmptying: Bool { kind != .gatheringBegan && results.isEmpty && !removed.isEmpty }
}

/// The results of a query as its observers see them: they change only together with a notification.
struct ShownResults: Sendable {
    /// A notification to post.
    struct Announcement: Sendable {
        let name: Notification.Name
        let added: [NSMetadataItem]
        let changed: [NSMetadataItem]
        let removed: [NSMetadataItem]

        var userInfo: [AnyHashable: Any] {
            [
                NSMetadataQueryUpdateAddedItemsKey: added, NSMetadataQueryUpdateChangedItemsKey: changed,
                NSMetadataQueryUpdateRemovedItemsKey: removed,
            ]
        }
    }

    private(set) var items: [NSMetadataItem] = []
    private(set) var isGathering = false
    /// The object of each path that has been among the results since the last start.
    private var objects: [FilePath: NSMetadataItem] = [:]
    /// The news that wait while updates are disabled.
    private var held: [QueryNews] = []
    private var holds = 0

    mutating func begin() {
        isGathering = true
        held = []
    }

    mutating func end() {
        isGathering = false
        held = []
    }

    mutating func hold() { holds += 1 }

    /// Ends one hold.
    ///
    /// - Returns: whether it was the last.
    mutating func release() -> Bool {
        precondition(holds > 0, "Updates of a query were enabled more often than they were disabled")
        holds -= 1
        return holds == 0
    }

    var holdCount: Int { holds }

    mutating func take(_ news: QueryNews) { held.append(news) }

    /// Shows the next news.
    ///
    /// - Returns: what to announce; nil if there are no news, or they wait.
    mutating func showNext() -> Announcement? {
        guard !held.isEmpty, holds == 0 || held.contains(where: \.isEmptying) else { return nil }
        let news = held.removeFirst()
        switch news.kind {
        case .gatheringBegan:
            isGathering = true
            objects = [:]
        case .gatheringFinished: isGathering = false
        case .gatheringProgressed, .updated: break
        }
        let changed = (news.changed).map { object(of: $0) }
        let added = news.added.map { object(of: $0) }
        let removed = news.removed.map { item in
            let object = objects.removeValue(forKey: item.path) ?? NSMetadataItem(item)
            object.update(item)
            return object
        }
        items = news.results.map { objects[$0.path] ?? object(of: $0) }
        return Announcement(name: Self.name(of: news.kind), added: added, changed: changed, removed: removed)
    }

    private mutating func object(of item: MetadataItem) -> NSMetadataItem {
        guard let object = objects[item.path] else {
            let object = NSMetadataItem(item)
            objects[item.path] = object
            return object
        }
        object.update(item)
        return object
    }

    private static func name(of kind: MetadataQueryUpdate.Kind) -> Notification.Name {
        switch kind {
        case .gatheringBegan: .NSMetadataQueryDidStartGathering
        case .gatheringProgressed: .NSMetadataQueryGatheringProgress
        case .gatheringFinished: .NSMetadataQueryDidFinishGathering
        case .updated: .NSMetadataQueryDidUpdate
        }
    }
}
