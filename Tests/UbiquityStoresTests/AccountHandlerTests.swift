import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

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
                $0.exchangesAutomatically = true
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
            let store = try await devices[0].follow { $0.transitionDeadline = .seconds(3600) }
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

    @Test("S-054: a handler that does not return is waited for up to the deadline, and cancelled")
    func deadline() async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let store = try await devices[0].follow { $0.transitionDeadline = .milliseconds(50) }
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
        }
    }

    @Test(
        "F-24, S-052, S-054, S-059: handlers are awaited and can still save to the old file; then it is swapped, and did-change says from what to what"
    )
    func handlers() async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let store = try await devices[0].follow()
            let local = store.file
            let heard = Mutex<[String]>([])
            let observing = Task { () -> StoreTransition? in
                for try await notice in store.notices.limited("a notice") {
                    switch notice {
                    case .willChange(let transition): heard.withLock { $0.append("will \(transition.kind)") }
                    case .didChange(let transition):
                        heard.withLock { $0.append("did \(transition.kind)") }
                        if transition.added.place == .local { return transition }
                    default: break
                    }
                }
                return nil
            }
            let alice = try AccountName("alice")
            let handler = store.onWillChange { transition in
                #expect(store.file == transition.removed.file)
                heard.withLock { $0.append("handler \(transition.kind)") }
                // Each is another record, and saved to the old file.
                let isSaved: Void? = try? await store.insert("\(transition.kind)")
                #expect(isSaved != nil)
            }
            defer { handler.cancel() }
            try devices[0].home.signIn(alice, containers: root)
            try await store.settled()
            #expect(try await store.keys() == ["accountAdded", "initialImportCompleted"])
            try devices[0].home.signOut()
            try await store.settled()
            let last = try await observing.value
            #expect(last?.added == StoreLocation(place: .local, file: local) && last?.removed.place == .account(alice))
            #expect(
                heard.withLock { $0.filter { !$0.hasPrefix("will") } } == [
                    "handler accountAdded", "did accountAdded", "handler initialImportCompleted", "did initialImportCompleted",
                    "handler accountRemoved", "did accountRemoved",
                ])
            #expect(try await store.keys() == [])
            // What was saved last is the account's, and goes out when that is back.
            try devices[0].home.signIn(alice, containers: root)
            try await store.settled()
            handler.cancel()
            #expect(try await Set(store.keys()).isSuperset(of: ["accountRemoved", "accountAdded", "initialImportCompleted"]))
            #expect(try await store.status().unpublished == 0)
        }
    }
}
