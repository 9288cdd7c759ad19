import Foundation
import SystemPackage
import Testing
import UbiquityContainers

@testable import UbiquityFoundation

/// What observers of a query see, and when.
@Suite struct ShownResultsTests {
    /// Results as a reference, because expectations take no mutating calls.
    private final class Shown {
        private var results = ShownResults()

        init() { results.begin() }

        var items: [NSMetadataItem] { results.items }
        var isGathering: Bool { results.isGathering }
        func hold() { results.hold() }
        func release() -> Bool { results.release() }
        func take(_ news: QueryNews) { results.take(news) }
        func showNext() -> ShownResults.Announcement? { results.showNext() }
    }

    private func item(_ name: String, size: Int64 = 0) -> MetadataItem { MetadataItem(path: FilePath("/c/\(name)"), size: size) }

    private func news(
        _ kind: MetadataQueryUpdate.Kind, added: [MetadataItem] = [], changed: [MetadataItem] = [], removed: [MetadataItem] = [],
        results: [MetadataItem] = []
    ) -> QueryNews {
        var news = QueryNews(kind)
        (news.added, news.changed, news.removed, news.results) = (added, changed, removed, results)
        return news
    }

    @Test("D-03: each notification comes with its results, and a path keeps its object from one to the next")
    func objects() throws {
        let shown = Shown()
        #expect(shown.isGathering && shown.showNext() == nil)
        shown.take(news(.gatheringBegan))
        shown.take(news(.gatheringFinished, added: [item("a"), item("b")], results: [item("a"), item("b")]))
        shown.take(news(.updated, added: [item("c")], changed: [item("a", size: 1)], removed: [item("b")], results: [item("a", size: 1), item("c")]))
        #expect(shown.showNext()?.name == .NSMetadataQueryDidStartGathering)
        #expect(shown.items.isEmpty && shown.isGathering)
        let finish = try #require(shown.showNext())
        #expect(finish.name == .NSMetadataQueryDidFinishGathering && !shown.isGathering && finish.added == shown.items)
        let (a, b) = (shown.items[0], shown.items[1])
        let update = try #require(shown.showNext())
        #expect(update.name == .NSMetadataQueryDidUpdate)
        #expect(update.changed.first === a && update.removed.first === b && update.added == [shown.items[1]] && shown.items[0] === a)
        #expect(a.value(forAttribute: NSMetadataItemFSSizeKey) as? Int == 1)
        #expect((update.userInfo[NSMetadataQueryUpdateRemovedItemsKey] as? [NSMetadataItem])?.first === b)
        #expect(shown.showNext() == nil)
    }

    @Test("D-03: while updates are disabled nothing is shown, but that everything has left")
    func holding() {
        let shown = Shown()
        shown.take(news(.gatheringFinished, added: [item("a")], results: [item("a")]))
        #expect(shown.showNext() != nil)
        shown.hold()
        shown.hold()
        shown.take(news(.updated, added: [item("b")], results: [item("a"), item("b")]))
        #expect(shown.showNext() == nil && shown.items.count == 1)
        #expect(!shown.release() && shown.showNext() == nil)
        #expect(shown.release() && shown.showNext()?.added.count == 1)
        shown.hold()
        shown.take(news(.updated, added: [item("c")], results: [item("a"), item("b"), item("c")]))
        shown.take(news(.updated, removed: [item("a"), item("b"), item("c")]))
        #expect(shown.showNext() != nil && shown.showNext()?.removed.count == 3)
        #expect(shown.items.isEmpty && shown.showNext() == nil)
    }
}
