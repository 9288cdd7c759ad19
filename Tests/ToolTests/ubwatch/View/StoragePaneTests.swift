import Foundation
import StoreInspection
import SystemPackage
import Testing
import ToolProcesses

@testable import ubwatch

/// The space that a container takes, in the view and in the list.
struct StoragePaneTests {
    private static func table(free: Int64?, mark: Int64?) -> Table {
        var facts = WatchFacts(
            time: Date(timeIntervalSince1970: 0), path: "/r/a/c", account: "a", container: "c", presence: .there, device: .init(), state: .idle)
        facts.storage.documents = .init(files: 2, bytes: 4_000_000)
        facts.storage.logs = .init(files: 10, bytes: 1_000_000)
        (facts.space.free, facts.space.capacity, facts.space.mark) = (free, 10_000_000_000, mark)
        var view = ContainerView(path: "/r/a/c")
        view.take(facts)
        return TableMaker(view: view, now: facts.time).table(of: .storage)
    }

    private static func isRed(_ table: Table) -> Bool { table.rows.contains { $0.cells.contains { $0.style == .red } } }

    @Test(
        "S-128: the storage pane shows bytes by kind and what is free, and is red when nothing can be written or the mark is passed",
        arguments: [
            (Int64(5_000_000_000), Int64?.none, false), (1_000_000, nil, true), (5_000_000_000, 5_000_001, false), (5_000_000_000, 5_000_000, true),
        ])
    func storage(free: Int64, mark: Int64?, isRed: Bool) throws {
        let table = Self.table(free: free, mark: mark)
        #expect(Self.isRed(table) == isRed)
        func row(_ id: String) -> [String]? { table.rows.first { $0.id == id }?.cells.map(\.text) }
        #expect(row("documents")?[1] == "2" && row("documents")?[2] == "4 MB")
        #expect(row("logs")?[1] == "10" && row("logs")?[2] == "1 MB")
        #expect(row("free")?[3].hasSuffix(free > 1_000_000_000 ? "50% used" : "99% used") == true, "\(row("free") ?? [])")
        #expect(row("mark") != nil || mark == nil)
    }

    private struct Listed: Decodable {
        struct Amount: Decodable { var files: Int, bytes: Int64 }
        struct Storage: Decodable {
            struct Stores: Decodable { var logs: Amount }
            var documents: Amount
            var stores: Stores
            var free: Int64?
        }
        var identifier: String
        var storage: Storage
        var bytes: Int64
        var isOverMark: Bool
    }

    @Test("S-128: ubcontrol container list has the size of each container by kind, the free space, and whether the mark is passed")
    func list() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "Milk")
            let documents = device.container.appending("Documents")
            try FileManager.default.createDirectory(atPath: documents.string, withIntermediateDirectories: true)
            try Data(count: 1_000_000).write(to: URL(filePath: documents.appending("Film").string))
            func listed() async throws -> Listed {
                let output = try await device.run("ubcontrol", "container", "list", "--json").output
                return try JSONDecoder().decode(Listed.self, from: Data(output.utf8))
            }
            let before = try await listed()
            #expect(before.storage.documents.bytes == 1_000_000 && before.storage.stores.logs.files == 1 && !before.isOverMark, "\(before)")
            #expect(before.bytes > 1_000_000 && before.storage.free ?? 0 > 0)
            let text = try await device.run("ubcontrol", "container", "list").output
            #expect(text.contains("documents 1 MB") && text.contains(" in 1 container; ") && text.contains(" free of "), "\(text)")
            try Data(#"{"format":1,"storageMark":1000000}"#.utf8).write(to: URL(filePath: device.home.appending("config.json").string))
            #expect(try await listed().isOverMark)
            let over = try await device.run("ubcontrol", "container", "list").output
            #expect(over.contains("more than the mark of 1 MB in config.json"), "\(over)")
            #expect(!(try await device.run("ubcontrol", "container", "list", "--no-sizes").output.contains("MB")))
        }
    }
}
