import FileCoordination
import Foundation
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import TreeWatching

/// Queries over real files, with a clock that stands still: what comes by itself came at once.
@Suite(.timeLimit(.minutes(40))) struct MetadataQueryTests {
    /// A container, and what a test does with it.
    private struct Stage {
        let home: DeviceHome
        let container: UbiquityContainer
        let clock = StillClock()

        func path(_ name: String) -> FilePath { container.path.pushing(FilePath(name)) }
        func url(_ name: String) -> URL { URL(filePath: path(name).string) }

        func write(_ names: String..., text: String = "") throws {
            for name in names {
                try FileManager.default.createDirectory(at: url(name).deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(text.utf8).write(to: url(name))
            }
        }

        func remove(_ name: String) throws { try FileManager.default.removeItem(at: url(name)) }

        func query(
            _ scope: MetadataQuery.Scope = .documents, includesHidden: Bool = false,
            transport: (@Sendable (UbiquityContainer) -> any Transport)? = nil,
            where predicate: @escaping MetadataQuery.Predicate = { _ in true }
        ) -> MetadataQuery {
            MetadataQuery(
                containers: [container], scope: scope, includesHidden: includesHidden, transport: transport, clock: clock, predicate: predicate)
        }

        /// The paths in the container.
        func names(_ items: [MetadataItem]) -> [String] {
            items.map { item in
                var path = item.path
                _ = path.removePrefix(container.path)
                return path.string
            }
        }

        /// Starts a query, and reads on until it has gathered.
        func gather(_ query: MetadataQuery) async throws -> (updates: LimitedSequence<MetadataQueryUpdates>.AsyncIterator, results: [String]) {
            query.start()
            let updates = query.updates.limited("an update").makeAsyncIterator()
            while let update = try await updates.next() {
                if update.kind == .gatheringFinished { return (updates, names(update.results)) }
            }
            throw CancellationError()
        }

        /// Reads on, letting time pass, until the results are these.
        func until(_ expected: [String], _ updates: LimitedSequence<MetadataQueryUpdates>.AsyncIterator) async throws -> [MetadataItem] {
            try await until(updates) { $0 == expected }
        }

        /// Reads on, letting time pass, until somebody is content with the results.
        func until(_ updates: LimitedSequence<MetadataQueryUpdates>.AsyncIterator, _ isEnough: ([String]) -> Bool) async throws -> [MetadataItem] {
            while true {
                let ticking = Task { [clock] in
                    while !Task.isCancelled {
                        await clock.pass(.seconds(1))
                        await Task.yield()
                    }
                }
                defer { ticking.cancel() }
                guard let update = try await updates.next() else { return [] }
                if isEnough(names(update.results)) { return update.results }
            }
        }
    }

    private func withStage(_ body: (Stage) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            try await body(Stage(home: home, container: UbiquityContainer("org.example.notes", home: home)))
        }
    }

    @Test("U-77: a query searches documents, data, or both, one list of all")
    func bothScopes() async throws {
        try await withStage { stage in
            try stage.write("Documents/a.txt", "Data/b.txt", "c.txt")
            for (scope, expected) in [
                (MetadataQuery.Scope.documents, ["Documents/a.txt"]), (.data, ["Data", "Data/b.txt", "c.txt"]),
                ([.documents, .data], ["Data", "Data/b.txt", "Documents/a.txt", "c.txt"]), ([], []),
            ] {
                let query = stage.query(scope)
                #expect(try await stage.gather(query).results == expected, "\(scope)")
                query.stop()
            }
        }
    }

    @Test("U-77: an item that a coordinated write has told, and that goes before its new directory is watched, leaves the results")
    func goneBeforeItsDirectoryIsWatched() async throws {
        try await withStage { stage in
            try stage.write("Documents/a.txt")
            let query = stage.query()
            let (updates, _) = try await stage.gather(query)
            let watcher = try TreeWatcher(stage.container.path)
            let gate = await watcher.hold()
            defer { gate.signal() }
            try await FileCoordinator().write(stage.url("Documents/new/deep/b.txt")) { _ in try stage.write("Documents/new/deep/b.txt") }
            _ = try await stage.until(["Documents/a.txt", "Documents/new/deep/b.txt"], updates)
            try stage.remove("Documents/new/deep")
            gate.signal()
            _ = try await stage.until(["Documents/a.txt", "Documents/new"], updates)
        }
    }

    @Test("U-77: a query gathers what is there, with what can be told of it, and then tells of changes when the batching interval has passed")
    func gathering() async throws {
        try await withStage { stage in
            try stage.write("Documents/a.txt", text: "text")
            try stage.write("Documents/folder/b.txt", "Documents/c.md")
            let query = stage.query(where: { $0.name.hasSuffix(".txt") })
            #expect(!query.isStarted && query.results.isEmpty)
            let updates = query.updates.limited("an update").makeAsyncIterator()
            #expect(query.start() && !query.start())
            let began = try #require(try await updates.next())
            #expect(began.kind == .gatheringBegan && began.results.isEmpty)
            let progress = try #require(try await updates.next())
            #expect(progress.kind == .gatheringProgressed && stage.names(progress.added) == ["Documents/a.txt", "Documents/folder/b.txt"])
            let finish = try #require(try await updates.next())
            #expect(finish.kind == .gatheringFinished && finish.results == progress.results && query.results == finish.results)
            #expect(finish.results[0].size == 4 && finish.results[0].contentModificationDate > Date(timeIntervalSinceNow: -3600))
            #expect(query.isStarted && !query.isGathering)

            try stage.write("Documents/folder/d.txt")
            // Nothing comes before the interval has passed.
            try await within("a sleeper") { [clock = stage.clock] in await clock.sleepers(1) }
            #expect(query.results == finish.results)
            try stage.remove("Documents/a.txt")
            #expect(try await stage.until(["Documents/folder/b.txt", "Documents/folder/d.txt"], updates).count == 2)
            query.stop()
            #expect(!query.isStarted && query.results.count == 2)
        }
    }

    @Test("U-77: documents and data are two scopes; stores, marks and what does not leave the device belong to neither, and packages are one item")
    func scopes() async throws {
        try await withStage { stage in
            try stage.write("Documents/a.txt", "Documents/Book.pages/index.xml", "Documents/Book.pages/pictures/1.png", text: "12345")
            try stage.write("Documents/Draft.nosync/b.txt", "Cache.nosync/c", "CoreData/Notes/epochs/1.x", "Data/d.bin", "e.bin")
            try stage.write("Documents/~syncthing~f.txt.tmp")
            try FileManager.default.createSymbolicLink(atPath: stage.path("Documents/link").string, withDestinationPath: stage.path("Data").string)
            let documents = stage.query()
            let (_, found) = try await stage.gather(documents)
            #expect(found == ["Documents/Book.pages", "Documents/a.txt", "Documents/link"])
            let items = documents.results
            try #require(items.count == 3)
            #expect(items[0].isPackage && items[0].isDirectory && items[0].size == 10)
            #expect(!items[1].isDirectory && items[2].isSymbolicLink && !items[2].isDirectory)
            #expect(try await stage.gather(stage.query(.data)).results == ["Data", "Data/d.bin", "e.bin"])
        }
    }

    @Test("U-77: a change in a package is a change of the package")
    func packages() async throws {
        try await withStage { stage in
            try stage.write("Documents/Book.pages/index.xml", text: "12345")
            let (updates, _) = try await stage.gather(stage.query())
            try stage.write("Documents/Book.pages/new.xml", text: "12345")
            while try await stage.until(["Documents/Book.pages"], updates).first?.size != 10 {}
        }
    }

    @Test("S-021: names that begin with a dot are left out with what lies below them, unless asked for")
    func hidden() async throws {
        try await withStage { stage in
            try stage.write("Documents/.secret", "Documents/.folder/a.txt", "Documents/b.txt", "Documents/.stversions/b.txt", "Documents/.stignore")
            let (updates, found) = try await stage.gather(stage.query())
            #expect(found == ["Documents/b.txt"])
            let all = ["Documents/.folder", "Documents/.folder/a.txt", "Documents/.secret", "Documents/b.txt"]
            #expect(try await stage.gather(stage.query(includesHidden: true)).results == all)
            try stage.write("Documents/.later", "Documents/.folder/later.txt", "Documents/later.txt")
            #expect(try await stage.until(["Documents/b.txt", "Documents/later.txt"], updates).count == 2)
        }
    }

    @Test("U-76, U-77: a conflict copy is no item but makes its item conflicted, until resolved; one whose item is gone is an item")
    func conflicts() async throws {
        try await withStage { stage in
            let copy = "Documents/a.sync-conflict-20260102-030405-ABCDEFG.txt"
            try stage.write("Documents/a.txt", "Documents/b.txt", copy)
            let query = stage.query()
            let (updates, found) = try await stage.gather(query)
            #expect(found == ["Documents/a.txt", "Documents/b.txt"])
            #expect(query.results.map(\.hasUnresolvedConflicts) == [true, false])
            let version = try #require(await FileVersion.unresolvedConflictVersions(ofItemAt: stage.url("Documents/a.txt"))?.first)
            try await version.setResolved(true)
            while try await stage.until(found, updates)[0].hasUnresolvedConflicts {}
            try stage.remove("Documents/a.txt")
            _ = try await stage.until([copy, "Documents/b.txt"], updates)
            try stage.write("Documents/a.txt")
            _ = try await stage.until(found, updates)
            try stage.write("Documents/b.sync-conflict-20260102-030405-ABCDEFG.txt")
            while try await !stage.until(found, updates)[1].hasUnresolvedConflicts {}
        }
    }

    @Test("U-77: directories that are moved, removed and replaced take along what is in them")
    func directories() async throws {
        try await withStage { stage in
            try stage.write("Documents/one/a/b.txt", "outside/new/c.txt")
            let (updates, found) = try await stage.gather(stage.query(where: { !$0.isDirectory }))
            #expect(found == ["Documents/one/a/b.txt"])
            try FileManager.default.moveItem(at: stage.url("Documents/one"), to: stage.url("Documents/two"))
            _ = try await stage.until(["Documents/two/a/b.txt"], updates)
            try FileManager.default.moveItem(at: stage.url("outside/new"), to: stage.url("Documents/three"))
            _ = try await stage.until(["Documents/three/c.txt", "Documents/two/a/b.txt"], updates)
            // At once, so that nobody sees the directory gone.
            try stage.remove("Documents/two")
            try stage.write("Documents/two/d.txt")
            _ = try await stage.until(["Documents/three/c.txt", "Documents/two/d.txt"], updates)
            try stage.remove("Documents/three")
            try stage.remove("Documents")
            _ = try await stage.until([], updates)
        }
    }

    @Test("U-77: another predicate or order begins a running query anew, and frozen results stay as they are")
    func restart() async throws {
        try await withStage { stage in
            try stage.write("Documents/a.txt", "Documents/b.md")
            let query = stage.query(where: { $0.name.hasSuffix(".txt") })
            let (updates, _) = try await stage.gather(query)
            query.predicate = { $0.name.hasSuffix(".md") }
            let began = try #require(try await updates.next())
            #expect(began.kind == .gatheringBegan && stage.names(began.removed) == ["Documents/a.txt"])
            _ = try await stage.until(["Documents/b.md"], updates)
            query.predicate = { _ in true }
            query.order = { $0.name > $1.name }
            _ = try await stage.until(["Documents/b.md", "Documents/a.txt"], updates)
            while query.isGathering { _ = try await updates.next() }
            query.disableUpdates()
            try await FileCoordinator().write(stage.url("Documents/c.txt")) { try Data().write(to: $0) }
            #expect(stage.names(query.results) == ["Documents/b.md", "Documents/a.txt"])
            query.enableUpdates()
            _ = try await stage.until(["Documents/c.txt", "Documents/b.md", "Documents/a.txt"], updates)
        }
    }

    @Test("U-77: changes are gathered for a second unless another interval is set, and not told before")
    func batchingInterval() async throws {
        // Each in a container of its own: the later events of one file would begin another interval.
        for (name, interval) in [("a", nil), ("b", Duration.milliseconds(200))] {
            try await withStage { stage in
                let query = stage.query()
                #expect(query.batchingInterval == .seconds(1))
                if let interval { query.batchingInterval = interval }
                let (updates, _) = try await stage.gather(query)
                try stage.write("Documents/\(name)")
                await stage.clock.sleepers(1)
                let before = query.results
                stage.clock.advance(by: query.batchingInterval - .milliseconds(1))
                #expect(query.results == before)
                stage.clock.advance(by: .milliseconds(1))
                while !stage.names(query.results).contains("Documents/\(name)") { _ = try await updates.next() }
            }
        }
    }

    @Test("U-77: updates come where they are read: on the main actor, on that")
    func delivery() async throws {
        try await withStage { stage in
            try stage.write("Documents/a.txt")
            let query = stage.query()
            query.start()
            let count = await Task { @MainActor in
                var count = 0
                for await update in query.updates {
                    MainActor.preconditionIsolated("an update came off the reader's actor")
                    count += 1
                    if update.kind == .gatheringFinished { break }
                }
                return count
            }.value
            #expect(count > 0)
            #expect(stage.names(query.results) == ["Documents/a.txt"])
        }
    }

    @Test("U-77: a reader that comes late begins with where the query stands")
    func late() async throws {
        try await withStage { stage in
            try stage.write("Documents/a.txt")
            let query = stage.query()
            _ = try await stage.gather(query)
            let late = query.updates.limited("an update").makeAsyncIterator()
            let update = try #require(try await late.next())
            #expect(update.kind == .gatheringFinished && stage.names(update.added) == ["Documents/a.txt"] && update.results == query.results)
        }
    }

    @Test("U-78: what this process creates, moves and deletes with coordination is in its queries at once, though no time passes")
    func stitching() async throws {
        try await withStage { stage in
            try stage.write("Documents/a.txt", "Documents/folder/b.txt")
            let (updates, _) = try await stage.gather(stage.query(where: { !$0.isDirectory }))
            let coordinator = FileCoordinator()
            try await coordinator.write(stage.url("Documents/c.txt")) { try Data("text".utf8).write(to: $0) }
            let created = try #require(try await updates.next())
            #expect(created.kind == .updated && stage.names(created.added) == ["Documents/c.txt"])
            try await coordinator.write(
                stage.url("Documents/folder"), options: .forMoving, writing: stage.url("Documents/moved"), writingOptions: .forReplacing
            ) { source, target in
                try FileManager.default.moveItem(at: source, to: target)
                coordinator.item(at: source, didMoveTo: target)
            }
            let moved = try #require(try await updates.next())
            #expect(stage.names(moved.added) == ["Documents/moved/b.txt"] && stage.names(moved.removed) == ["Documents/folder/b.txt"])
            try await coordinator.write(stage.url("Documents/a.txt"), options: .forDeleting) { try FileManager.default.removeItem(at: $0) }
            let deleted = try #require(try await updates.next())
            #expect(
                stage.names(deleted.removed) == ["Documents/a.txt"] && stage.names(deleted.results) == ["Documents/c.txt", "Documents/moved/b.txt"])
        }
    }

    @Test("U-79: a sign-out empties live queries at once, and lets no other account see anything; they fill again with the account")
    func signOut() async throws {
        try await withStage { stage in
            try stage.write("Documents/a.txt", "Documents/b.txt")
            let query = stage.query()
            let (updates, _) = try await stage.gather(query)
            query.disableUpdates()
            try stage.home.signOut()
            let update = try #require(try await updates.next())
            #expect(update.removed.count == 2 && update.results.isEmpty && query.results.isEmpty)
            query.enableUpdates()
            // Nothing in the container was touched.
            #expect(try tree(below: stage.container.documents) == ["a.txt", "b.txt"])
            try stage.home.signIn(AccountName("bob"))
            try stage.home.recheckIdentity()
            try await FileCoordinator().write(stage.url("Documents/c.txt")) { try Data().write(to: $0) }
            try stage.home.signIn(AccountName("alice"))
            #expect(try await stage.until(["Documents/a.txt", "Documents/b.txt", "Documents/c.txt"], updates).count == 3)
        }
    }

    @Test("U-77: a container that goes empties its queries, and fills them again when it is back, also where it was not there at first")
    func root() async throws {
        try await withStage { stage in
            try stage.write("Documents/a.txt")
            let (root, away) = (stage.home.path.appending("containers"), stage.home.path.appending("away"))
            try FileManager.default.moveItem(atPath: root.string, toPath: away.string)
            let query = stage.query()
            let (updates, found) = try await stage.gather(query)
            #expect(found == [])
            try FileManager.default.moveItem(atPath: away.string, toPath: root.string)
            _ = try await stage.until(["Documents/a.txt"], updates)
            try FileManager.default.moveItem(atPath: root.string, toPath: away.string)
            let gone = try #require(try await updates.next())
            #expect(stage.names(gone.removed) == ["Documents/a.txt"] && gone.results.isEmpty)
            try FileManager.default.moveItem(atPath: away.string, toPath: root.string)
            _ = try await stage.until(["Documents/a.txt"], updates)
        }
    }

    @Test("U-77: a link in a container's place is not followed, neither at first nor when a query runs", arguments: [false, true])
    func link(isFirst: Bool) async throws {
        try await withStage { stage in
            try stage.write("Documents/a")
            let query = stage.query()
            let aside = stage.container.path.removingLastComponent().removingLastComponent().appending("aside")
            func replace() throws {
                try FileManager.default.moveItem(atPath: stage.container.path.string, toPath: aside.string)
                try FileManager.default.createSymbolicLink(atPath: stage.container.path.string, withDestinationPath: aside.string)
            }
            if isFirst { try replace() }
            let (updates, results) = try await stage.gather(query)
            #expect(results == (isFirst ? [] : ["Documents/a"]))
            if !isFirst {
                try replace()
                _ = try await stage.until([], updates)
            }
            // What is behind the link for a while is nobody's.
            try Data().write(to: URL(filePath: aside.appending("Documents/b").string))
            try FileManager.default.removeItem(atPath: aside.appending("Documents/a").string)
            try FileManager.default.moveItem(atPath: aside.appending("Documents/b").string, toPath: aside.appending("Documents/c").string)
            // The container is back, with what came to it meanwhile: that is the next to be told.
            try FileManager.default.removeItem(atPath: stage.container.path.string)
            try FileManager.default.moveItem(atPath: aside.string, toPath: stage.container.path.string)
            _ = try await stage.until(updates) { names in
                #expect(names.isEmpty || names == ["Documents/c"])
                return !names.isEmpty
            }
        }
    }

    @Test("an item's status is asked for, and asked again when its source says so")
    func statuses() async throws {
        try await withStage { stage in
            try stage.write("Documents/a.txt")
            let (updates, found) = try await stage.gather(stage.query(transport: { DirectoryTransport($0) }))
            while try await stage.until(found, updates).first?.status != .unknown {}
            try stage.write("Documents/a.sync-conflict-20260102-030405-ABCDEFG.txt")
            while try await stage.until(found, updates).first?.status != .conflicted {}
        }
    }

    @Test("thousands of items come in several steps, in order, and hostile names break nothing")
    func many() async throws {
        try await withStage { stage in
            for index in 0..<1500 { try stage.write("Documents/d\(index % 7)/\(index).txt") }
            let names = ["a\nb", " ", "%2F", "-rf", "ä", String(repeating: "n", count: 255)]
            for name in names { try Data().write(to: URL(filePath: stage.path("Documents").appending(name).string)) }
            let query = stage.query(where: { !$0.isDirectory })
            var steps = 0
            let updates = query.updates.limited("an update").makeAsyncIterator()
            query.start()
            var known: Set<FilePath> = []
            while let update = try await updates.next(), update.kind != .gatheringFinished {
                steps += 1
                known.formUnion(update.added.map(\.path))
                #expect(Set(update.results.map(\.path)) == known)
            }
            #expect(query.results.count == 1500 + names.count && steps >= 2)
            #expect(query.results.map(\.path.string) == query.results.map(\.path.string).sorted())
        }
    }
}
