import Foundation
import GRDB
import JournalModel
import Testing
import Ubiquity
import UbiquityTesting

/// The journals of two devices.
@Suite(.timeLimit(.minutes(40)))
struct SyncTests {
    @Test("Tags that two devices give one post at once are both there, and a tag that one of them takes away is gone")
    func tags() async throws {
        try await withJournals { devices, desk, pocket in
            let id = try await desk.add("Hike", tags: ["draft"])
            try await devices.settle(desk.store, pocket.store)
            try await apart(devices, desk, pocket) {
                try await desk.change(id) { $0.tags = ["draft", "mountains"] }
                try await pocket.change(id) { $0.tags = ["summer"] }
            }
            for journal in [desk, pocket] { #expect(try await journal.contents(id)?.tags == ["mountains", "summer"]) }
        }
    }

    @Test("A tag that two devices create under one name is one tag, which both posts have")
    func sameTag() async throws {
        try await withJournals { devices, desk, pocket in
            try await apart(devices, desk, pocket) {
                try await desk.add("Hike", tags: ["Travel"])
                try await pocket.add("Sail", tags: [" travel "])
            }
            for journal in [desk, pocket] {
                #expect(try await journal.store.read { db in try Tag.fetchAll(db).map(\.name) } == ["travel"])
                #expect(try await journal.titles(tag: "travel") == ["Hike", "Sail"])
            }
        }
    }

    @Test("Two devices that change the title and the text of one post at once keep both changes")
    func columns() async throws {
        try await withJournals { devices, desk, pocket in
            let id = try await desk.add("Hike", body: "Up.")
            try await devices.settle(desk.store, pocket.store)
            try await apart(devices, desk, pocket) {
                try await desk.change(id) { $0.title = "Long hike" }
                try await pocket.change(id) { $0.body = "Up and down." }
            }
            for journal in [desk, pocket] {
                let contents = try await journal.contents(id)
                #expect(contents?.title == "Long hike" && contents?.body == "Up and down.")
            }
        }
    }

    @Test("Pinned posts that two devices move at once have one order on both, and none is lost")
    func order() async throws {
        try await withJournals { devices, desk, pocket in
            var ids: [String] = []
            for title in ["a", "b", "c", "d"] {
                ids.append(try await desk.add(title))
                _ = try await desk.setPinned(true, ids[ids.count - 1])
            }
            #expect(try await desk.pinned() == ["a", "b", "c", "d"])
            try await devices.settle(desk.store, pocket.store)
            try await apart(devices, desk, pocket) {
                _ = try await desk.move(ids[3], by: -3)
                #expect(try await desk.pinned() == ["d", "a", "b", "c"])
                _ = try await pocket.move(ids[0], by: 2)
                #expect(try await pocket.pinned() == ["b", "c", "a", "d"])
            }
            for journal in [desk, pocket] { #expect(try await journal.pinned() == ["d", "b", "c", "a"]) }
            #expect(try await desk.move(ids[3], by: -1) == nil, "the first one stays the first")
        }
    }

    @Test("Two devices that have pinned posts at one position both show them, and a move between them finds room")
    func equalPositions() async throws {
        try await withJournals { devices, desk, pocket in
            let position = try #require(FractionalPosition.between(nil, nil))
            let first = PostEdit(creating: PostContents(title: "a", position: position))
            let second = PostEdit(creating: PostContents(title: "b", position: position))
            try await apart(devices, desk, pocket) {
                _ = try await desk.apply(first)
                _ = try await pocket.apply(second)
            }
            let third = try await desk.add("c")
            _ = try await desk.setPinned(true, third)
            _ = try await desk.move(third, by: -1)
            try await devices.settle(desk.store, pocket.store)
            let order = try await desk.pinned()
            #expect(order.count == 3 && order[1] == "c")
            #expect(try await pocket.pinned() == order)
        }
    }

    @Test("A large attachment arrives with every byte, and its thumbnail shows the picture")
    func attachments() async throws {
        try await withJournals { devices, desk, pocket in
            let id = try await desk.add("Hike")
            // Above the size from which a value has a file of its own.
            let data = picture(width: 1_000, height: 500)
            #expect(data.count > 1 << 20)
            _ = try await desk.attach(data, named: "halves.ppm", to: id)
            try await devices.settle(desk.store, pocket.store)
            let entry = try #require(try await pocket.posts().first?.attachments.first)
            #expect(entry.name == "halves.ppm" && entry.size == data.count)
            let line = String(repeating: "█", count: 12) + String(repeating: " ", count: 12)
            #expect(entry.thumbnail == Array(repeating: line, count: 6).joined(separator: "\n"), "\(entry.thumbnail)")
            #expect(try await pocket.attachment("halves.ppm", of: id)?.data == data)
            #expect(try await pocket.attachment("other", of: id) == nil)
            #expect(try await pocket.attach(data, named: "x", to: "nothing") == nil)
        }
    }

    @Test("The search finds posts that another device has written, by their new words once they change, and no removed ones")
    func search() async throws {
        try await withJournals { devices, desk, pocket in
            let hike = try await desk.add("Hike", body: "Alpine meadows")
            try await desk.add("Sail", body: "A calm sea")
            try await devices.settle(desk.store, pocket.store)
            #expect(try await pocket.titles(search: "mead") == ["Hike"])
            #expect(try await pocket.titles(search: "calm sea") == ["Sail"])
            #expect(try await pocket.titles(search: "calm meadows") == [])
            try await desk.change(hike) { $0.body = "Alpine lakes" }
            try await devices.settle(desk.store, pocket.store)
            #expect(try await pocket.titles(search: "meadows") == [])
            #expect(try await pocket.titles(search: "LAKES") == ["Hike"])
            _ = try await desk.remove(hike)
            try await devices.settle(desk.store, pocket.store)
            #expect(try await pocket.titles(search: "alpine") == [])
            // What is no word finds everything, as an empty field does.
            #expect(try await pocket.titles(search: "\"*") == ["Sail"])
        }
    }
}
