import Foundation
import JournalModel
import Testing
import Ubiquity
import UbiquityTesting
import Waiting

/// Runs a body with the journals of two devices of one account, and closes them.
func withJournals(_ body: (SimulatedDevices, _ desk: Journal, _ pocket: Journal) async throws -> Void) async throws {
    try await withSimulatedDevices(seed: 11) { devices in
        let desk = try await Journal.open(home: devices.add("desk").home)
        let pocket = try await Journal.open(home: devices.add("pocket").home)
        try await devices.settle(desk.store, pocket.store)
        try await body(devices, desk, pocket)
        try await desk.close()
        try await pocket.close()
    }
}

/// Runs a body while two devices do not exchange, and then exchanges.
func apart(_ devices: SimulatedDevices, _ desk: Journal, _ pocket: Journal, _ body: () async throws -> Void) async throws {
    try await desk.setOffline(true)
    try await pocket.setOffline(true)
    try await body()
    try await desk.setOffline(false)
    try await pocket.setOffline(false)
    try await devices.settle(desk.store, pocket.store)
}

extension Journal {
    /// Adds a post, and returns its identifier.
    @discardableResult
    func add(_ title: String, body: String = "", tags: [String] = []) async throws -> String {
        let edit = PostEdit(creating: PostContents(title: title, body: body, tags: tags))
        #expect(try await apply(edit) == .done)
        return edit.post
    }

    /// Changes a post, and returns the edit.
    @discardableResult
    func change(_ id: String, _ body: (inout PostContents) -> Void) async throws -> PostEdit {
        let before = try #require(try await contents(id))
        var after = before
        body(&after)
        let edit = PostEdit(post: id, before: before, after: after)
        #expect(try await apply(edit) == .done)
        return edit
    }

    func contents(_ id: String) async throws -> PostContents? { try await posts().first { $0.id == id }?.contents }

    func titles(search: String? = nil, tag: String? = nil) async throws -> [String] {
        try await posts(search: search, tag: tag).map(\.contents.title).sorted()
    }

    /// The titles of the pinned posts, in their order.
    func pinned() async throws -> [String] { try await posts().filter(\.isPinned).map(\.contents.title) }

    /// Waits until the store has reported a wipe; a late observer is told of it too.
    func waitForSuspension() async throws {
        for try await notice in store.notices.limited("the suspension") { if case .didSuspend = notice { return } }
        Issue.record("the notices have ended without a suspension")
    }
}

/// A picture in the format of ppm(5), white on the left and black on the right.
func picture(width: Int, height: Int) -> Data {
    let row = (0..<width).flatMap { Array(repeating: UInt8($0 < width / 2 ? 255 : 0), count: 3) }
    return Data("P6\n# two halves\n\(width) \(height)\n255\n".utf8) + Data((0..<height).flatMap { _ in row })
}
