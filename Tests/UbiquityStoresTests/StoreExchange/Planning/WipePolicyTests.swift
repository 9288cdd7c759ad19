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

/// What becomes of a store when its container, or its content, is gone; and pausing it.
struct WipePolicyTests {
    /// What may be gone.
    enum Loss: CaseIterable, Sendable {
        case content, container, mark
        /// The directory of the epochs' marks alone.
        case epochs

        func happen(to container: UbiquityContainer) throws {
            let path =
                switch self {
                case .content: container.path.appending("CoreData/People")
                case .container: container.path
                case .mark: container.path.appending(".ubiquity")
                case .epochs: container.path.appending("CoreData/People/epochs")
                }
            while FileManager.default.fileExists(atPath: path.string) {
                do {
                    return try FileManager.default.removeItem(atPath: path.string)
                } catch let error as CocoaError where [.fileWriteNoPermission, .fileWriteUnknown, .fileNoSuchFile].contains(error.code) {
                    // A store that exchanges meanwhile has put something there that was not listed.
                    continue
                }
            }
        }
    }

    private func insert(_ key: String, into store: UbiquitousStore) async throws {
        try await store.execute("INSERT INTO person (id) VALUES (?)", [key])
    }

    private func open(_ device: TestDevice, _ policy: WipePolicy) async throws -> UbiquitousStore {
        try await device.follow { $0.wipePolicy = policy }
    }

    @Test("F-18: what was wiped is reported, and nothing is put there again by itself", arguments: Loss.allCases)
    func waits(loss: Loss) async throws {
        try await withDevices(1) { devices, _ in
            let store = try await open(devices[0], .wait)
            try await insert("a", into: store)
            try await store.settled()
            let container = try await devices[0].container()
            try loss.happen(to: container)
            try await insert("b", into: store)
            let notices = store.notices.limited().makeAsyncIterator()
            await #expect(throws: UbiquitousStoreError.self) { try await store.settled() }
            var told: ContainerAttachment.Reason?
            while told == nil, let notice = try await notices.next() { if case .didSuspend(let reason) = notice { told = reason } }
            #expect(try await store.status().suspended == told)
            #expect(try await store.keys() == ["a", "b"])
            let left = FileManager.default.enumerator(atPath: container.path.string)?.allObjects as? [String] ?? []
            #expect(left.count { $0.hasSuffix(".ublog") } == ([.mark, .epochs].contains(loss) ? 1 : 0))
            // By hand it is, whatever the policy.
            try await store.answerWipe(.republish)
            try await store.settled()
            #expect(try await store.status().suspended == nil)
        }
    }

    @Test("Where the policy is to republish, all that the store holds is there again, for every device", arguments: Loss.allCases)
    func republishes(loss: Loss) async throws {
        try await withDevices(3) { devices, _ in
            let (a, b) = (try await open(devices[0], .republish), try await open(devices[1], .republish))
            try await insert("a", into: a)
            try await a.settled()
            try await insert("b", into: b)
            try await settle(b, a)
            let peer = try await a.status().peer
            try loss.happen(to: try await devices[0].container())
            try await insert("late", into: a)
            try await settle(a, b)
            try await insert("later", into: b)
            try await settle(b, a)
            for store in [a, b] { #expect(try await store.keys() == ["a", "b", "late", "later"]) }
            #expect(try await a.status().peer == peer)
            // One that comes now knows nothing of what was.
            let c = try await open(devices[2], .wait)
            try await c.settled()
            #expect(try await c.keys() == ["a", "b", "late", "later"])
            #expect(try await a.conflicts().isEmpty)
            #expect(try await b.status().quarantined.isEmpty)
        }
    }

    @Test("Where the policy is to follow, the content begins anew, empty, on every device, and what had not been sent is set aside")
    func follows() async throws {
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await open(devices[0], .follow), try await open(devices[1], .follow))
            try await insert("a", into: a)
            try await settle(a, b)
            let container = try await devices[0].container()
            try Loss.container.happen(to: container)
            try await insert("unsent", into: a)
            try await insert("far", into: b)
            try await a.settled()
            #expect(try await a.keys() == [])
            #expect(try await a.status().epoch == 2)
            let kept = KeptLogs(home: devices[0].home)
            #expect(try kept.list().count == 1)
            try await insert("new", into: a)
            try await a.settled()
            // The other's mark is gone too; it follows the removal that it finds, and ends nothing again.
            try await b.settled()
            #expect(try await b.keys() == ["new"])
            #expect(try await b.status().epoch == 2)
            #expect(try KeptLogs(home: devices[1].home).list().count == 1)
            try await insert("newer", into: b)
            try await settle(b, a)
            #expect(try await a.keys() == ["new", "newer"])
        }
    }

    @Test("The app that is asked answers once for each wipe, and what it answers is done")
    func asks() async throws {
        try await withDevices(1) { devices, _ in
            let asked = AsyncStream.makeStream(of: ContainerAttachment.Reason.self)
            let store = try await open(
                devices[0],
                .ask { reason in
                    asked.continuation.yield(reason)
                    return .republish
                })
            try await insert("a", into: store)
            try await store.settled()
            for _ in 0..<2 {
                try Loss.content.happen(to: try await devices[0].container())
                try await store.settled()
                #expect(try await store.status().suspended == nil)
            }
            asked.continuation.finish()
            var reasons: [ContainerAttachment.Reason] = []
            for await reason in asked.stream { reasons.append(reason) }
            #expect(reasons == [.contentGone, .contentGone])
        }
    }

    @Test("By itself, too: a store that exchanges automatically republishes what is wiped")
    func automatically() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].follow {
                $0.wipePolicy = .republish
                $0.advanced.exchangesAutomatically = true
            }
            try await insert("a", into: store)
            try await store.settled()
            let notices = store.notices.limited().makeAsyncIterator()
            try Loss.container.happen(to: try await devices[0].container())
            while let notice = try await notices.next() { if case .didResume = notice { break } }
            try await store.settled()
            let other = try await TestDevice("late", in: devices[0].directory, root: devices[0].home.containersRoot!).follow()
            try await other.settled()
            #expect(try await other.keys() == ["a"])
        }
    }

    @Test("A containers root that is gone is waited for, whatever the policy says")
    func rootGone() async throws {
        try await withDevices(1) { devices, root in
            let store = try await open(devices[0], .republish)
            try await insert("a", into: store)
            try await store.settled()
            try FileManager.default.moveItem(atPath: root.string, toPath: root.string + "-away")
            await #expect(throws: UbiquitousStoreError.self) { try await store.settled() }
            await #expect(throws: UbiquitousStoreError.self) { try await store.answerWipe(.republish) }
            #expect(!FileManager.default.fileExists(atPath: root.string))
            try FileManager.default.moveItem(atPath: root.string + "-away", toPath: root.string)
            try await store.settled()
            #expect(try await store.status().suspended == nil)
        }
    }
}

/// Pausing, and asking by another program.
struct PauseTests {
    @Test("F-32: a store that is paused keeps all over a restart, and all goes out and in once it is resumed")
    func paused() async throws {
        try await withDevices(2) { devices, _ in
            let other = try await devices[1].open()
            var store = try await devices[0].follow()
            try await store.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(store, other)
            try await store.pause()
            try await store.execute("INSERT INTO person (id) VALUES ('b')")
            try await other.execute("INSERT INTO person (id) VALUES ('c')")
            try await other.settled()
            await #expect { try await store.settled() } throws: { ($0 as? UbiquitousStoreError)?.code == .paused }
            try await store.publish()
            try await store.close()
            store = try await devices[0].follow()
            #expect(try await store.status().isPaused)
            try await store.publish()
            try await other.settled()
            #expect(try await store.keys() == ["a", "b"])
            #expect(try await other.keys() == ["a", "c"])
            for ask in [{ try await store.rebuildFromUbiquitousContent() }, { _ = try await store.rollBaseline() }] {
                await #expect { try await ask() } throws: { ($0 as? UbiquitousStoreError)?.code == .paused }
            }
            try await store.resume()
            try await settle(store, other)
            for each in [store, other] { #expect(try await each.keys() == ["a", "b", "c"]) }
        }
    }

    @Test(
        "F-32: what was purged while a store was paused is lost nowhere: it keeps all, says what is gone once it is resumed, and puts it back when asked",
        arguments: WipePolicyTests.Loss.allCases.filter { $0 != .epochs }, [false, true])
    func purged(loss: WipePolicyTests.Loss, restarts: Bool) async throws {
        try await withDevices(3) { devices, _ in
            var store = try await devices[0].follow()
            let other = try await devices[1].follow()
            try await store.insert("before")
            try await settle(store, other)
            try await store.pause()
            try await store.insert("paused")
            // Somebody makes room, for good.
            try loss.happen(to: try await devices[0].container())
            if restarts {
                try await store.close()
                store = try await devices[0].follow()
            }
            try await store.publish()
            try await store.insert("purged")
            #expect(try await store.keys() == ["before", "paused", "purged"])
            #expect(try await store.status().isPaused)
            try await store.resume()
            // Nothing is put there by itself, and nothing goes.
            await #expect { try await store.settled() } throws: { ($0 as? UbiquitousStoreError)?.code == .suspended }
            #expect(try await store.status().suspended != nil)
            #expect(try await store.keys() == ["before", "paused", "purged"])
            #expect(try await other.keys() == ["before"])
            try await store.answerWipe(.republish)
            try await store.settled()
            let late = try await devices[2].follow()
            try await late.settled()
            #expect(try await late.keys() == ["before", "paused", "purged"])
            for device in devices { #expect(try device.kept().list().isEmpty) }
        }
    }

    @Test("F-32: where the content was removed on another device while a store was paused, what it had not sent is set aside and can be written back")
    func removed() async throws {
        try await withDevices(2) { devices, _ in
            let (store, other) = (try await devices[0].follow(), try await devices[1].follow())
            try await store.insert("sent")
            try await settle(store, other)
            try await store.pause()
            try await store.insert("unsent")
            try await other.removeAll()
            try await store.publish()
            #expect(try await store.keys() == ["sent", "unsent"])
            try await store.resume()
            try await settle(store, other)
            #expect(try await store.keys() == [])
            let entry = try #require(try devices[0].kept().list().first)
            #expect(try devices[0].kept().changes(of: entry.id).flatMap(\.changes).map(\.record) == ["person/t:unsent"])
        }
    }

    @Test("A store that is paused before its account's content is read stays with the fallback file, and nobody who is signed out can pause")
    func pausedEarly() async throws {
        try await withDevices(2) { devices, _ in
            let other = try await devices[1].open()
            try await other.execute("INSERT INTO person (id) VALUES ('o')")
            try await other.settled()
            let store = try await devices[0].follow()
            try await store.execute("INSERT INTO person (id) VALUES ('a')")
            let alice = try AccountName("alice")
            try await store.pause()
            await #expect { try await store.settled() } throws: { ($0 as? UbiquitousStoreError)?.code == .paused }
            try await store.close()
            let again = try await devices[0].follow()
            #expect(await again.place == .fallback(alice))
            #expect(try await again.keys() == ["a"])
            try await again.resume()
            try await again.settled()
            #expect(await again.place == .account(alice))
            #expect(try await again.keys() == ["a", "o"])
            try devices[0].home.signOut()
            try await again.settled()
            await #expect { try await again.pause() } throws: { ($0 as? UbiquitousStoreError)?.code == .unsupported }
        }
    }

    @Test(
        "F-16: where sync is switched off by signing out, and on again, the app is asked, the status says where each set of records lies, and both are kept"
    )
    func locations() async throws {
        try await withDevices(1) { devices, root in
            let asked = Mutex<[AccountName]>([])
            let store = try await devices[0].follow {
                $0.joiningPolicy = .ask { account in
                    asked.withLock { $0.append(account) }
                    return .keepSeparate
                }
            }
            let alice = try AccountName("alice")
            try await store.execute("INSERT INTO person (id) VALUES ('synced')")
            try await store.settled()
            let synced = store.file
            try devices[0].home.signOut()
            try await store.settled()
            try await store.execute("INSERT INTO person (id) VALUES ('local')")
            #expect(try await store.keys() == ["local"])
            let local = store.file
            let own = StoreLocation(place: .local, file: local), account = StoreLocation(place: .account(alice), file: synced)
            // The fallback file of the account, which is empty, is there too.
            let signedOut = try await store.status().locations
            #expect(signedOut.first == own && signedOut.contains(account))
            #expect(asked.withLock { $0 } == [])
            try devices[0].home.signIn(alice, containers: root)
            try await store.settled()
            #expect(asked.withLock { $0 } == [alice])
            #expect(try await store.keys() == ["synced"])
            let signedIn = try await store.status().locations
            #expect(signedIn.first == account && signedIn.contains(own))
            try devices[0].home.signOut()
            try await store.settled()
            #expect(try await store.keys() == ["local"])
            try await store.close()
        }
    }

    @Test("F-17: a sign-out is told once, by itself, to a store that nobody asks anything of")
    func signOut() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].follow()
            try await store.insert("a")
            try await store.settled()
            let file = store.file
            let alice = try AccountName("alice")
            let notices = store.notices.limited("notices").makeAsyncIterator()
            try devices[0].home.signOut()
            // The kernel's event of the account's file is all that leads to it.
            var told: [(what: String, transition: StoreTransition)] = []
            while told.last?.what != "did", let notice = try await notices.next() {
                switch notice {
                case .willChange(let transition) where transition.kind == .accountRemoved: told.append(("will", transition))
                case .didChange(let transition) where transition.kind == .accountRemoved: told.append(("did", transition))
                // How the store stood before is told first.
                default: break
                }
            }
            #expect(told.map(\.what) == ["will", "did"])
            let transition = try #require(told.last?.transition)
            #expect(transition.removed == StoreLocation(place: .account(alice), file: file) && transition.added.place == .local)
            #expect(told.first?.transition == transition)
            #expect(store.file == transition.added.file)
            #expect(try await store.keys() == [])
            try await store.close()
            #expect(try await notices.next() == nil)
        }
    }
}
