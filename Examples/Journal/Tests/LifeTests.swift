import Foundation
import JournalModel
import Testing
import Ubiquity
import UbiquityTesting

/// A journal offline, without an account, with another account, and after a wipe.
@Suite(.timeLimit(.minutes(40)))
struct LifeTests {
    @Test("I-05: A device that is offline writes on, shows that it is offline, and sends everything once it is online")
    func offline() async throws {
        try await withJournals { devices, desk, pocket in
            try await desk.setOffline(true)
            try await desk.add("Written offline")
            try await devices.settle(pocket.store)
            #expect(try await pocket.titles() == [])
            #expect(try await desk.status() == JournalStatus(account: "alice", isOffline: true))
            try await desk.setOffline(false)
            try await devices.settle(desk.store, pocket.store)
            #expect(try await pocket.titles() == ["Written offline"])
            #expect(try await desk.status() == JournalStatus(account: "alice"))
        }
    }

    @Test("I-05: After a sign-out the account's posts are out of sight; what is written then stays, and joins the account at the next sign-in")
    func signOut() async throws {
        try await withJournals { devices, desk, pocket in
            try await desk.add("Of alice")
            try await devices.settle(desk.store, pocket.store)
            try pocket.signOut()
            try await pocket.store.settled()
            #expect(try await pocket.status().account == nil)
            #expect(try await pocket.titles() == [])
            try await pocket.add("Of nobody", tags: ["local"])
            #expect(try await pocket.titles(search: "nobody") == ["Of nobody"])
            try pocket.signIn("alice")
            try await pocket.store.settled()
            try await devices.settle(desk.store, pocket.store)
            for journal in [desk, pocket] { #expect(try await journal.titles() == ["Of alice", "Of nobody"]) }
            #expect(try await desk.titles(tag: "local") == ["Of nobody"])
        }
    }

    @Test("I-05: Another account shows its own posts, and the first account's are there when it returns")
    func anotherAccount() async throws {
        try await withJournals { devices, desk, pocket in
            try await desk.add("Of alice")
            try await devices.settle(desk.store, pocket.store)
            try pocket.signIn("bob")
            try await pocket.store.settled()
            #expect(try await pocket.status().account == "bob")
            #expect(try await pocket.titles() == [])
            try await pocket.add("Of bob")
            try await devices.settle(desk.store, pocket.store)
            #expect(try await desk.titles() == ["Of alice"])
            try pocket.signIn("alice")
            try await pocket.store.settled()
            #expect(try await pocket.titles() == ["Of alice"])
        }
    }

    @Test("I-05: A wipe suspends both devices, which write on; once each has written the container again, both have everything")
    func wipe() async throws {
        try await withJournals { devices, desk, pocket in
            try await desk.add("Before")
            try await devices.settle(desk.store, pocket.store)
            try desk.wipe()
            try await desk.waitForSuspension()
            try await devices.sync()
            try await pocket.waitForSuspension()
            #expect(try await desk.status().suspension != nil)
            try await desk.add("On the desk")
            try await pocket.add("In the pocket")
            #expect(try await desk.titles() == ["Before", "On the desk"])
            #expect(try await pocket.titles() == ["Before", "In the pocket"])
            try await desk.republish()
            try await devices.sync()
            try await pocket.republish()
            try await devices.settle(desk.store, pocket.store)
            for journal in [desk, pocket] {
                #expect(try await journal.status() == JournalStatus(account: "alice"))
                #expect(try await journal.titles() == ["Before", "In the pocket", "On the desk"])
            }
        }
    }

    @Test("The line of a status says whose journal it is and what keeps it from the other devices, the gravest first")
    func lines() {
        let table: [(JournalStatus, String)] = [
            (JournalStatus(account: nil), "this device · nobody is signed in"),
            (JournalStatus(account: "a"), "a · online"),
            (JournalStatus(account: "a", isGathering: true), "a · reading"),
            (JournalStatus(account: "a", isGathering: true, isOffline: true, failure: "full"), "a · offline"),
            (JournalStatus(account: "a", isGathering: true, failure: "the disk is full"), "a · the disk is full"),
            (JournalStatus(account: "a", isOffline: true, suspension: "gone"), "a · suspended: gone"),
        ]
        for (status, line) in table { #expect(status.line == line) }
    }
}
