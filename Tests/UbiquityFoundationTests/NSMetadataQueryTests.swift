import Foundation
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityFoundation
import UbiquityTesting
import Waiting

/// Queries under Cocoa's names, over real files, with a clock that stands still: what comes by itself came at once.
@Suite(.timeLimit(.minutes(40))) struct NSMetadataQueryTests {
    /// A notification of a query, and the results at its time.
    private struct Notice: Sendable, CustomStringConvertible {
        let name: Notification.Name
        let isOnQueue: Bool
        let results: [String]
        let added: [String]
        let removed: [String]
        var description: String { "\(name.rawValue) \(results)" }
    }

    /// A query of the documents of a container, with what it posts.
    private final class Stage: @unchecked Sendable {
        // Everything is constant; the query guards itself, and the tokens are used at the beginning and the end.
        let home: DeviceHome
        let container: UbiquityContainer
        let clock = StillClock()
        let query = NSMetadataQuery()
        let queue = OperationQueue()
        let notices: LimitedSequence<AsyncStream<Notice>>.AsyncIterator
        private var tokens: [any NSObjectProtocol] = []

        init(home: DeviceHome, container: UbiquityContainer) {
            (self.home, self.container) = (home, container)
            let (stream, continuation) = AsyncStream.makeStream(of: Notice.self)
            notices = stream.limited("a notification").makeAsyncIterator()
            queue.maxConcurrentOperationCount = 1
            query.home = home
            query.clock = clock
            query.containerIdentifiers = [container.identifier.description]
            query.operationQueue = queue
            query.predicate = NSPredicate(block: { _, _ in true })
            let names: [Notification.Name] = [
                .NSMetadataQueryDidStartGathering, .NSMetadataQueryGatheringProgress, .NSMetadataQueryDidFinishGathering, .NSMetadataQueryDidUpdate,
            ]
            for name in names {
                let token = NotificationCenter.default.addObserver(forName: name, object: query, queue: nil) { [queue] notification in
                    guard let query = notification.object as? NSMetadataQuery else { return }
                    func listed(_ key: String) -> [String] { Stage.names(notification.userInfo?[key] as? [NSMetadataItem] ?? []) }
                    continuation.yield(
                        Notice(
                            name: notification.name, isOnQueue: OperationQueue.current === queue, results: Stage.names(query.results),
                            added: listed(NSMetadataQueryUpdateAddedItemsKey), removed: listed(NSMetadataQueryUpdateRemovedItemsKey)))
                }
                tokens.append(token)
            }
        }

        func end() {
            query.stop()
            for token in tokens { NotificationCenter.default.removeObserver(token) }
        }

        static func names(_ items: [Any]) -> [String] {
            items.map { ($0 as? NSMetadataItem)?.value(forAttribute: NSMetadataItemFSNameKey) as? String ?? "no item" }
        }

        var results: [String] { Stage.names(query.results) }
        var documents: URL { URL(filePath: container.documents.string, directoryHint: .isDirectory) }

        func next() async throws -> Notice {
            guard let notice = try await notices.next() else { throw CancellationError() }
            return notice
        }

        /// Starts the query, and reads until it has gathered.
        @discardableResult func gather() async throws -> [Notice] {
            #expect(query.start())
            return try await gathered()
        }

        func gathered() async throws -> [Notice] {
            var read: [Notice] = []
            while read.last?.name != .NSMetadataQueryDidFinishGathering { read.append(try await next()) }
            return read
        }

        /// Reads on, letting time pass, until a notice is as expected.
        func until(_ isExpected: (Notice) -> Bool) async throws -> Notice {
            let ticking = Task { [clock] in
                while !Task.isCancelled {
                    await clock.pass(.seconds(1))
                    await Task.yield()
                }
            }
            defer { ticking.cancel() }
            while true {
                let notice = try await next()
                if isExpected(notice) { return notice }
            }
        }

        func writeCoordinated(_ name: String) async throws {
            let url = documents.file(name)
            try await onThread { NSFileCoordinator().coordinate(writingItemAt: url, error: nil) { try? Data().write(to: $0) } }
        }
    }

    private func withStage(_ body: (Stage) async throws -> Void) async throws {
        try await withDirectory { directory in
            let home = DeviceHome(FilePath(directory.appending(path: "home").path))
            try home.signIn(AccountName("alice"))
            let stage = try await Stage(home: home, container: UbiquityContainer("org.example.notes", home: home))
            try await body(stage)
            stage.end()
        }
    }

    @Test("D-03: a query gathers, with its notifications in order on its queue, and its results change with them alone")
    func gathering() async throws {
        try await withStage { stage in
            for name in ["b.txt", "a.txt", "folder/c.txt", "d.md"] { try stage.documents.write(name, "text") }
            stage.query.predicate = try NSPredicate(metadataFormat: "%K LIKE '*.txt'", NSMetadataItemFSNameKey)
            #expect(!stage.query.isStarted && !stage.query.isStopped && stage.query.resultCount == 0)
            // The end of the gathering is shown on the queue, so it cannot come before the question.
            stage.query.operationQueue?.isSuspended = true
            #expect(stage.query.start() && !stage.query.start() && stage.query.isStarted && stage.query.isGathering)
            stage.query.operationQueue?.isSuspended = false
            let notices = try await stage.gathered()
            #expect(notices.first?.name == .NSMetadataQueryDidStartGathering && notices.first?.results == [])
            #expect(notices.dropFirst().dropLast().allSatisfy { $0.name == .NSMetadataQueryGatheringProgress })
            #expect(notices.allSatisfy { $0.isOnQueue })
            #expect(Set(notices.flatMap(\.added)) == ["a.txt", "b.txt", "c.txt"])
            #expect(stage.results == ["a.txt", "b.txt", "c.txt"] && !stage.query.isGathering)
            let first = stage.query.result(at: 0)
            #expect(stage.query.index(ofResult: first) == 0 && stage.query.index(ofResult: "a.txt") == NSNotFound)
            #expect(stage.query.value(ofAttribute: NSMetadataItemFSSizeKey, forResultAt: 0) as? Int == 4)
            var seen: [Int] = []
            stage.query.enumerateResults { _, index, stop in
                seen.append(index)
                if index == 1 { stop.pointee = ObjCBool(true) }
            }
            #expect(seen == [0, 1])
            stage.query.stop()
            #expect(stage.query.isStopped && !stage.query.isStarted && stage.query.resultCount == 3)
        }
    }

    @Test("D-03: a coordinated write of this process appears at once, other changes after the batching interval")
    func batching() async throws {
        try await withStage { stage in
            try stage.documents.write("a.txt")
            #expect(stage.query.notificationBatchingInterval == 1)
            try await stage.gather()
            // No time passes here.
            try await stage.writeCoordinated("b.txt")
            while !stage.results.contains("b.txt") { #expect(try await stage.next().name == .NSMetadataQueryDidUpdate) }
            // These two wait for the interval, and come together or one after the other with it.
            try stage.documents.write("c.txt")
            try await within("a sleeper") { [clock = stage.clock] in await clock.sleepers(1) }
            #expect(!stage.results.contains("c.txt"))
            let notice = try await stage.until { $0.added.contains("c.txt") }
            #expect(notice.name == .NSMetadataQueryDidUpdate && notice.results == ["a.txt", "b.txt", "c.txt"] && notice.isOnQueue)
            try FileManager.default.removeItem(at: stage.documents.file("a.txt"))
            #expect(try await stage.until { $0.removed == ["a.txt"] }.results == ["b.txt", "c.txt"])
        }
    }

    @Test("D-03: a coordinated deletion by this process shows at once")
    func deleting() async throws {
        try await withStage { stage in
            for name in ["a.txt", "b.txt"] { try stage.documents.write(name) }
            try await stage.gather()
            // No time passes here.
            let url = stage.documents.file("a.txt")
            try await onThread {
                NSFileCoordinator().coordinate(writingItemAt: url, options: .forDeleting, error: nil) { try? FileManager.default.removeItem(at: $0) }
            }
            while stage.results.contains("a.txt") { #expect(try await stage.next().name == .NSMetadataQueryDidUpdate) }
            #expect(stage.results == ["b.txt"])
        }
    }

    @Test("D-03: results are frozen while updates are disabled, and a changed predicate or order starts again")
    func freezing() async throws {
        try await withStage { stage in
            for name in ["a.txt", "b.md"] { try stage.documents.write(name) }
            try await stage.gather()
            stage.query.disableUpdates()
            try await stage.writeCoordinated("c.txt")
            #expect(stage.results == ["a.txt", "b.md"])
            stage.query.enableUpdates()
            #expect(try await stage.until { $0.added == ["c.txt"] }.results == ["a.txt", "b.md", "c.txt"])

            stage.query.predicate = try NSPredicate(metadataFormat: "%K ENDSWITH '.txt'", NSMetadataItemFSNameKey)
            let notices = try await stage.gathered()
            #expect(notices.contains { $0.name == .NSMetadataQueryDidStartGathering && $0.results.isEmpty })
            #expect(stage.results == ["a.txt", "c.txt"])
            stage.query.sortDescriptors = [MetadataSortDescriptor(key: NSMetadataItemFSNameKey, ascending: false)]
            #expect(try await stage.gathered().last?.results == ["c.txt", "a.txt"])
        }
    }

    @Test("D-03: scopes are the documents, the data, and directories by URL or path, several at a time")
    func scopes() async throws {
        try await withStage { stage in
            for name in ["Documents/a.txt", "Documents/folder/b.txt", "Data/c.bin", "d.bin"] {
                try URL(filePath: stage.container.path.string, directoryHint: .isDirectory).write(name)
            }
            stage.query.predicate = try NSPredicate(metadataFormat: "%K CONTAINS '.'", NSMetadataItemFSNameKey)
            let folder = stage.documents.appending(path: "folder", directoryHint: .isDirectory)
            let table: [([Any], Set<String>)] = [
                ([NSMetadataQueryUbiquitousDocumentsScope], ["a.txt", "b.txt"]),
                ([NSMetadataQueryUbiquitousDataScope], ["c.bin", "d.bin"]),
                ([NSMetadataQueryUbiquitousDocumentsScope, NSMetadataQueryUbiquitousDataScope], ["a.txt", "b.txt", "c.bin", "d.bin"]),
                ([], ["a.txt", "b.txt", "c.bin", "d.bin"]),
                ([folder], ["b.txt"]),
                ([folder.path, NSMetadataQueryUbiquitousDataScope], ["b.txt", "c.bin", "d.bin"]),
            ]
            for (index, (scopes, expected)) in table.enumerated() {
                stage.query.searchScopes = scopes
                if index == 0 { stage.query.start() }
                _ = try await stage.gathered()
                #expect(Set(stage.results) == expected)
            }
        }
    }

    @Test("D-03: a sign-out empties a query, also while updates are disabled, and a sign-in fills it again")
    func signingOut() async throws {
        try await withStage { stage in
            for name in ["a.txt", "b.txt"] { try stage.documents.write(name) }
            try await stage.gather()
            stage.query.disableUpdates()
            try stage.home.signOut()
            let notice = try await stage.until { $0.results.isEmpty }
            #expect(Set(notice.removed) == ["a.txt", "b.txt"] && stage.results == [])
            stage.query.enableUpdates()
            #expect(FileManager.default.fileExists(atPath: stage.documents.file("a.txt").path))
            try stage.home.signIn(AccountName("alice"))
            _ = try await stage.until { $0.results == ["a.txt", "b.txt"] }
        }
    }

    @Test("D-03: a query that starts while nobody is signed in finishes with nothing, and finds the items of the account that signs in")
    func startsSignedOut() async throws {
        try await withStage { stage in
            try stage.documents.write("a.txt")
            try stage.home.signOut()
            #expect(try await stage.gather().last?.results == [])
            try stage.home.signIn(AccountName("alice"))
            #expect(try await stage.until { $0.results == ["a.txt"] }.added.isEmpty == false)
        }
    }

    @Test("D-03: a query needs a predicate, and one that is released stops")
    func predicate() async throws {
        try await withStage { stage in
            stage.query.predicate = nil
            #expect(!stage.query.start() && !stage.query.isStarted)
        }
        try await withDirectory { directory in
            let home = DeviceHome(FilePath(directory.appending(path: "home").path))
            weak var released: NSMetadataQuery?
            do {
                let query = NSMetadataQuery()
                query.home = home
                query.operationQueue = OperationQueue()
                query.predicate = NSPredicate(block: { _, _ in true })
                query.start()
                released = query
            }
            // A notification that is being posted may keep it for a moment.
            try await until("the query is released") { released == nil }
        }
    }

    @Test("D-03: without a queue the notifications are posted on the main queue")
    func mainQueue() async throws {
        try await withStage { stage in
            try stage.documents.write("a.txt")
            stage.query.operationQueue = nil
            let (queues, noted) = AsyncStream.makeStream(of: Bool.self)
            let token = NotificationCenter.default.addObserver(forName: .NSMetadataQueryDidFinishGathering, object: stage.query, queue: nil) { _ in
                noted.yield(OperationQueue.current === OperationQueue.main)
            }
            defer { NotificationCenter.default.removeObserver(token) }
            #expect(try await stage.gather().last?.results == ["a.txt"])
            let isMain = try await queues.limited("a queue").makeAsyncIterator().next()
            #expect(isMain == true)
        }
    }

    @Test("D-03: the sign-in of another account restarts a query, which then shows that account's items alone")
    func otherAccount() async throws {
        try await withStage { stage in
            try stage.documents.write("a.txt")
            try await stage.gather()
            try stage.home.signOut()
            _ = try await stage.until { $0.results.isEmpty }
            try stage.home.signIn(AccountName("bob"))
            let other = try await UbiquityContainer(stage.container.identifier.description, home: stage.home)
            try URL(filePath: other.documents.string, directoryHint: .isDirectory).write("b.txt")
            _ = try await stage.until { $0.name == .NSMetadataQueryDidStartGathering && $0.results.isEmpty }
            _ = try await stage.until { $0.results == ["b.txt"] }
            #expect(FileManager.default.fileExists(atPath: stage.documents.file("a.txt").path))
        }
    }

    @Test("D-03: a query looks into the containers that the app has declared, or into those that it is given")
    func declared() async throws {
        try await withStage { stage in
            try stage.documents.write("given.txt")
            let declared = try await UbiquityContainer("org.example.declared", home: stage.home)
            try URL(filePath: declared.documents.string, directoryHint: .isDirectory).write("declared.txt")
            let configuration = stage.home.path.appending("config.json").string
            try Data(#"{"format":1,"containers":["org.example.declared"]}"#.utf8).write(to: URL(filePath: configuration))
            #expect(try await stage.gather().last?.results == ["given.txt"])
            stage.query.containerIdentifiers = nil
            #expect(try await stage.gathered().last?.results == ["declared.txt"])
        }
    }

    @Test("D-03: a folder that goes takes its items out of the results, the query runs on, and shows them when it is back")
    func goingFolder() async throws {
        try await withStage { stage in
            for name in ["a.txt", "folder/b.txt"] { try stage.documents.write(name) }
            let folder = stage.documents.appending(path: "folder", directoryHint: .isDirectory)
            stage.query.predicate = try NSPredicate(metadataFormat: "%K ENDSWITH '.txt'", NSMetadataItemFSNameKey)
            stage.query.searchScopes = [folder]
            #expect(try await stage.gather().last?.results == ["b.txt"])
            try FileManager.default.removeItem(at: folder)
            #expect(try await stage.until { $0.removed == ["b.txt"] }.results == [])
            #expect(stage.query.isStarted && stage.documents.file("a.txt").text == "")
            try stage.documents.write("folder/c.txt")
            #expect(try await stage.until { $0.added == ["c.txt"] }.results == ["c.txt"])
        }
    }
}
