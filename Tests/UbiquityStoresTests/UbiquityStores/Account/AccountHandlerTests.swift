import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import UbiquityStores

/// What an app is told and asked as its store changes files.
struct AccountHandlerTests {
    @Test("The app is asked once where there is something to join, and what it answers is done", arguments: [true, false])
    func asked(joins: Bool) async throws {
        try await withDevices(1) { devices, root in
            let asked = Mutex<[String]>([])
            try devices[0].home.signOut()
            let store = try await devices[0].follow {
                $0.joiningPolicy = .ask { account in
                    asked.withLock { $0.append(account.description) }
                    return joins ? .merge : .keepSeparate
                }
            }
            try await store.insert("l")
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            #expect(asked.withLock { $0 } == ["alice"])
            #expect(try await store.keys() == (joins ? ["l"] : []))
        }
    }

    @Test("A question that another account makes void is taken back, the other is asked about, and the late answer is not regarded")
    func askedAnother() async throws {
        try await withDevices(1) { devices, root in
            let (asked, asking) = AsyncStream.makeStream(of: String.self)
            let (released, release) = AsyncStream.makeStream(of: Void.self)
            try devices[0].home.signOut()
            let store = try await devices[0].follow {
                $0.advanced.exchangesAutomatically = true
                $0.joiningPolicy = .ask { account in
                    asking.yield(account.description)
                    guard account.description == "alice" else { return .merge }
                    for await _ in released { break }
                    return .merge
                }
            }
            try await store.insert("l")
            let questions = asked.limited().makeAsyncIterator()
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            #expect(try await questions.next() == "alice")
            try devices[0].home.signIn(AccountName("bob"), containers: root)
            #expect(try await questions.next() == "bob")
            release.yield()
            for try await notice in store.notices.limited("bob's file") {
                if case .didChange(let transition) = notice, transition.added.place == .account(try AccountName("bob")) { break }
            }
            #expect(try await store.keys() == ["l"])
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            #expect(try await store.keys() == [])
            try await store.close()
        }
    }

    /// Whose what was saved in the local file is said to be while the handlers of will-change are called, as if another process had been at it.
    private func joining(sayingThatItIs owner: String, _ body: (UbiquitousStore) async throws -> Void) async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let store = try await devices[0].follow()
            try await store.insert("l")
            let local = store.file
            let handler = store.onWillChange { _ in _ = try? sqlite3(local, "UPDATE ubiquity_state SET given = \(owner)") }
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            defer { withExtendedLifetime(handler) {} }
            try await body(store)
        }
    }

    @Test("What another process has emptied before the files change is joined all the same with what has been saved since")
    func emptiedMeanwhile() async throws {
        try await joining(sayingThatItIs: "NULL") { store in
            try await store.settled()
            #expect(try await store.keys() == ["l"])
            let alice = try AccountName("alice")
            #expect(await store.place == .account(alice))
        }
    }

    @Test("What is saved after the account has gone, to a file that another process has emptied, is not given to it")
    func goneMeanwhile() async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let store = try await devices[0].follow()
            try await store.insert("l")
            let (local, home) = (store.file, devices[0].home)
            let moments = Mutex(0)
            let handler = store.onWillChange { _ in
                let moment = moments.withLock { moments in
                    moments += 1
                    return moments
                }
                guard moment == 1 else { return }
                // Another process has joined what was there, the account signs out, and somebody saves.
                _ = try? sqlite3(local, "UPDATE ubiquity_state SET given = NULL; INSERT INTO person (id) VALUES ('x')")
                do { try home.signOut() } catch { Issue.record(error) }
            }
            defer { handler.cancel() }
            try home.signIn(AccountName("alice"), containers: root)
            try await until("a moment has come") {
                try await store.settled()
                return moments.withLock { $0 } != 0
            }
            try await store.settled()
            #expect(await store.place == .local)
            #expect(try await store.keys().contains("x"))
            #expect(try sqlite3(local, "SELECT given IS NULL FROM ubiquity_state") == "1\n")
        }
    }

    @Test("Who waits for a store to settle waits no longer once it is closed, though a handler goes on", .timeLimit(.minutes(40)))
    func closedMeanwhile() async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let store = try await devices[0].follow { $0.advanced.transitionDeadline = .seconds(3600) }
            let (begun, end) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
            let handler = store.onWillChange { _ in
                begun.continuation.yield()
                for await _ in end.stream { return }
            }
            defer { handler.cancel() }
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            let settling = Task { try await store.settled() }
            _ = try await begun.stream.limited("the handler").first { _ in true }
            let closing = Task { try await store.close() }
            _ = await settling.result
            end.continuation.yield()
            try await closing.value
        }
    }

    @Test("A change of files that cannot be made is told to who waits for it, each time, and nobody waits for ever", .timeLimit(.minutes(40)))
    func failing() async throws {
        try await joining(sayingThatItIs: "'carol~1fac08f1-c2e6-4047-92c5-93ca8ffd2ed6'") { store in
            for _ in 0..<2 {
                let error = await #expect(throws: UbiquitousStoreError.self) { try await store.settled() }
                #expect(error?.code == .foreignStore)
            }
            let keys = try await store.keys()
            #expect(keys == ["l"])
        }
    }

    @Test("S-054: a handler that does not return is waited for up to the deadline, which is logged, and cancelled")
    func deadline() async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let lines = LineCollector(level: 0)
            let store = try await devices[0].follow(logger: lines.logger) {
                $0.advanced.transitionDeadline = .milliseconds(50)
                $0.joiningPolicy = .keepSeparate
            }
            let wasCancelled = AsyncStream.makeStream(of: Bool.self)
            let never = AsyncStream.makeStream(of: Void.self)
            let handler = store.onWillChange { _ in
                // It never ends by itself.
                for await _ in never.stream {}
                wasCancelled.continuation.yield(Task.isCancelled)
            }
            defer { handler.cancel() }
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            let alice = try AccountName("alice")
            #expect(await store.place == .account(alice))
            #expect(try await wasCancelled.stream.limited("the end of the handler").first { _ in true } == true)
            // The next transition's call returns at once, which may still take longer than that.
            let line = "Ubiquity: People.sqlite: a handler of will-change has not returned in 0.05 seconds; the file changes now"
            #expect(lines.all.first == line && Set(lines.all) == [line], "\(lines.all)")
        }
    }

    @Test(
        "F-24, S-052, S-054, S-059: handlers are awaited between will- and did-change, once each, and read and save in the old file; what they save survives a restart and goes out when the account is back"
    )
    func handlers() async throws {
        try await withDevices(2) { devices, root in
            let other = try await devices[1].open()
            try devices[0].home.signOut()
            let store = try await devices[0].follow { $0.advanced.transitionDeadline = .seconds(3600) }
            try await store.insert("l")
            let (local, alice) = (store.file, try AccountName("alice"))
            // Foundation's notifications are posted where the change is made, so that their order with the handlers is certain.
            let order = Mutex<[String]>([])
            let observers = [Notification.Name.ubiquitousStoreWillChange, .ubiquitousStoreDidChange].map { name in
                NotificationCenter.default.addObserver(forName: name, object: store, queue: nil) { notification in
                    let kind = (notification.userInfo?["transition"] as? StoreTransition)?.kind.rawValue ?? "none"
                    order.withLock { $0.append("\(name == .ubiquitousStoreWillChange ? "will" : "did") \(kind)") }
                }
            }
            defer { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
            // It observes from here on, whenever the task begins.
            let reader = store.notices.limited("a notice").makeAsyncIterator()
            let notices = Task { () async throws -> (heard: [String], last: StoreTransition?) in
                var heard: [String] = []
                while let notice = try await reader.next() {
                    switch notice {
                    case .willChange(let transition): heard.append("will \(transition.kind)")
                    case .didChange(let transition):
                        heard.append("did \(transition.kind)")
                        if transition.added.place == .local { return (heard, transition) }
                    default: break
                    }
                }
                return (heard, nil)
            }
            let seen = Mutex<[[String]?]>([])
            let handler = store.onWillChange { transition in
                order.withLock { $0.append("begun \(transition.kind)") }
                #expect(store.file == transition.removed.file)
                let keys = try? await store.keys()
                seen.withLock { $0.append(keys) }
                // Each is another record, and saved to the old file.
                let isSaved: Void? = try? await store.insert("\(transition.kind)")
                #expect(isSaved != nil)
                order.withLock { $0.append("ended \(transition.kind)") }
            }
            try devices[0].home.signIn(alice, containers: root)
            try await store.settled()
            #expect(try await store.keys() == ["accountAdded", "initialImportCompleted", "l"])
            try devices[0].home.signOut()
            try await store.settled()
            let (heard, last) = try await notices.value
            #expect(last?.added == StoreLocation(place: .local, file: local) && last?.removed.place == .account(alice))
            let kinds = ["accountAdded", "initialImportCompleted", "accountRemoved"]
            #expect(heard == kinds.flatMap { ["will \($0)", "did \($0)"] })
            #expect(order.withLock { $0 } == kinds.flatMap { ["will \($0)", "begun \($0)", "ended \($0)", "did \($0)"] })
            #expect(seen.withLock { $0 } == [["l"], ["accountAdded", "l"], ["accountAdded", "initialImportCompleted", "l"]])
            #expect(try await store.keys() == [])
            handler.cancel()
            try await store.close()
            // What was saved last is the account's, survives the restart, and goes out when that is back.
            let again = try await devices[0].follow()
            #expect(try await again.keys() == [])
            try await other.settled()
            #expect(try await !other.keys().contains("accountRemoved"))
            try devices[0].home.signIn(alice, containers: root)
            try await settle(again, other)
            for each in [again, other] { #expect(try await each.keys() == ["accountAdded", "accountRemoved", "initialImportCompleted", "l"]) }
            #expect(try await again.status().unpublished == 0)
        }
    }

    @Test("F-24: a handler runs on its actor, or else off the main actor, beside the others, and all are waited for")
    func executors() async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let store = try await devices[0].follow {
                $0.joiningPolicy = .keepSeparate
                $0.advanced.transitionDeadline = .seconds(3600)
            }
            let (one, other) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
            let ended = Mutex<[String]>([])
            // Each waits for the other, in each of the two changes.
            let handlers = [
                store.onWillChange { @MainActor transition in
                    one.continuation.yield()
                    for await _ in other.stream { break }
                    if !Task.isCancelled { ended.withLock { $0.append("main \(MainQueue.isHere)") } }
                },
                store.onWillChange { transition in
                    let isOnMain = MainQueue.isHere
                    other.continuation.yield()
                    for await _ in one.stream { break }
                    if !Task.isCancelled { ended.withLock { $0.append("any \(isOnMain)") } }
                },
            ]
            defer { for handler in handlers { handler.cancel() } }
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            #expect(ended.withLock { $0.sorted() } == ["any false", "any false", "main true", "main true"])
        }
    }
}
