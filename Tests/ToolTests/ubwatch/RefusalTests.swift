import CLinux
import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers

@testable import ubwatch

/// What is no container is refused before it is looked through, and a look that nobody wants any more ends.
struct RefusalTests {
    private func withTree(_ body: (FilePath, [FilePath]) async throws -> Void) async throws {
        let top = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-tree-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: top.string) }
        let below = ["a", "a/b", "a/b/c", "d", "d/e"].map { top.pushing(FilePath($0)) }
        for directory in below {
            try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
            try Data("x".utf8).write(to: URL(filePath: directory.appending("file.txt").string))
        }
        try await body(top, below)
    }

    @Test(
        "ubwatch refuses a directory that is no container before it opens any below it",
        arguments: ["status", "peers", "items", "verify", "conflicts"])
    func noContainer(command: String) async throws {
        try await withTree { top, below in
            let opens = try Opens(of: below)
            let outcome = try await Tool.run("ubwatch", [command, top.string])
            #expect(outcome.status == 64 && outcome.output.isEmpty && outcome.errors.contains("container"), "\(outcome)")
            #expect(opens.count == 0)
            // A look is seen where there is one.
            #expect(try await Tool.run("/usr/bin/find", [top.string]).status == 0)
            #expect(opens.count >= below.count)
        }
    }

    private struct Enough: Error {}

    /// How often a walk looks before it ends, where its second look is the last that anybody wants.
    private func looks(_ walk: (_ check: () throws -> Void) throws -> Void) -> Int {
        var looks = 0
        do {
            try walk {
                looks += 1
                if looks > 2 { throw Enough() }
            }
            return -1
        } catch {
            return looks
        }
    }

    @Test("a look at a container's items ends at the next directory once nobody wants it any more")
    func cancelled() async throws {
        try await withTree { top, below in
            #expect(looks { check in _ = try ItemSurvey(of: top, check) } == 3)
            let listing = ItemListing(of: [top], in: top, isRecursive: true, transport: DirectoryTransport(top))
            #expect(looks { check in _ = try listing.items(check) } == 3)
            let all = try listing.items()
            #expect(all.count == below.count * 2)
        }
        // A task that is cancelled ends with that, though what it waits for runs on another thread.
        let (began, begin) = AsyncStream.makeStream(of: Void.self)
        let look = Task {
            try await blockingCancellably { check -> Void in
                begin.yield()
                while true { try check() }
            }
        }
        for await _ in began { break }
        look.cancel()
        await #expect(throws: CancellationError.self) { try await look.value }
    }

    @Test("before a container has been looked at, no pane says that there is nothing in it")
    func looking() {
        var view = ContainerView(path: "/root/alice/org.example.notes")
        for pane in Pane.allCases where pane != .changes {
            #expect(TableMaker(view: view, now: Date()).table(of: pane).empty == "looking at the container", "\(pane)")
        }
        view.fail("it may not be read")
        #expect(TableMaker(view: view, now: Date()).table(of: .peers).empty == "the container cannot be read: it may not be read")
    }
}
