import Foundation
import Testing
import UbiquityContainers

@testable import ubwatch

struct TransferHistoryTests {
    private let start = Date(timeIntervalSince1970: 1_764_310_000)

    @Test("What is transferred counts in each span, in the column of its time, and a column that is too old goes")
    func spans() {
        var history = TransferHistory()
        history.add(.init(files: 1, bytes: 10), \.up, at: start)
        history.add(.init(files: 2, bytes: 5), \.down, at: start + 1)
        let (minute, hour, day) = (history.spans[0], history.spans[1], history.spans[2])
        #expect(minute.columns.map(\.up.bytes) == [10, 0] && minute.columns.map(\.down.files) == [0, 2])
        #expect(hour.columns.count == 1 && hour.columns[0].up == .init(files: 1, bytes: 10) && hour.columns[0].down.bytes == 5)
        #expect(day.columns.count == 1 && day.seconds == 600 && day.start % 600 == 0)
        history.advance(to: start + 61)
        #expect(history.spans[0].columns.count == 60 && history.spans[0].files(\.down) == 0)
        #expect(history.hour.files(\.down) == 2 && history.hour.columns.count == 7)
        history.advance(to: start + 90_000)
        #expect(history.spans.map(\.columns.count) == [60, 360, 144] && history.spans.allSatisfy { $0.files(\.up) == 0 })
        #expect(history.total.up == .init(files: 1, bytes: 10))
    }

    @Test("After a clock was set back, the last column collects until the clock has passed it")
    func clockSetBack() {
        var history = TransferHistory()
        history.advance(to: start)
        history.add(.init(files: 1, bytes: 1), \.up, at: start - 3600)
        #expect(history.spans.allSatisfy { $0.columns.count == 1 && $0.files(\.up) == 1 })
    }

    @Test("The bars of a terminal have the height of the files in their column, and an empty column is a dot")
    func bars() {
        var history = TransferHistory()
        history.add(.init(files: 8, bytes: 0), \.up, at: start)
        history.add(.init(files: 1, bytes: 0), \.down, at: start + 10)
        #expect(history.hour.bars(\.up, width: 4) == "··█·" && history.hour.bars(\.down, width: 4) == "···▁")
    }

    private func items(_ states: [String: ItemState], failure: String? = nil) -> WatchFacts.Items {
        var items = WatchFacts.Items()
        items.listed = states.map { .init(path: $0.key, state: $0.value) }.sorted { $0.path < $1.path }
        items.failure = failure
        return items
    }

    @Test("An item that was on its way and has arrived counts once, also if the transport was silent meanwhile; one that was there does not")
    func itemTransfers() {
        var transfers = ItemTransfers()
        let moving = items(["/c/in": .init(.downloading, size: 5), "/c/out": .init(.uploading, size: 7), "/c/old": .init(.current, size: 9)])
        let done = items(["/c/in": .init(.current, size: 5), "/c/out": .init(.current, size: 7), "/c/old": .init(.current, size: 9)])
        #expect(transfers.take(moving, of: .cloud) == .init())
        #expect(transfers.take(items([:], failure: "no answer"), of: .cloud) == .init())
        #expect(transfers.take(items(["/c/in": .init(.failed), "/c/out": .init(.unknown)]), of: .cloud) == .init())
        #expect(transfers.take(done, of: .cloud) == .init(up: .init(files: 1, bytes: 7), down: .init(files: 1, bytes: 5)))
        #expect(transfers.take(done, of: .cloud) == .init())
        // What Syncthing renames into place is a change that the watch sees.
        _ = transfers.take(moving, of: .syncthing)
        #expect(transfers.take(done, of: .syncthing) == .init(up: .init(files: 1, bytes: 7)))
    }
}
