import Foundation
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

/// Accounts that come and go while somebody looks.
struct IdentityChangesTests {
    @Test("S-029: a re-check tells a change as if it had been noticed, once, and says whether there was one")
    func recheck() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let alice = try home.ubiquityIdentityToken
            let changes = try home.identityChanges.limited().makeAsyncIterator()
            #expect(try await changes.next() == .some(alice))
            let posted = Mutex(0)
            let observer = NotificationCenter.default.addObserver(forName: .ubiquityIdentityDidChange, object: nil, queue: nil) { notification in
                if notification.userInfo?["home"] as? String == home.path.string { posted.withLock { $0 += 1 } }
            }
            defer { NotificationCenter.default.removeObserver(observer) }
            try home.signIn(AccountName("bob"))
            let bob = try home.ubiquityIdentityToken
            // Whichever of the two is first: when this returns everybody has been told.
            try home.recheckIdentity()
            #expect(try await changes.next() == .some(bob))
            #expect(try !home.recheckIdentity())
            try home.signOut()
            try home.recheckIdentity()
            #expect(try await changes.next() == .some(nil))
            #expect(posted.withLock { $0 } == 2)
        }
    }

    @Test("An account that a read has found, or missed, is told, though it is back before the home's change is noticed")
    func between() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let alice = try home.ubiquityIdentityToken
            let changes = try home.identityChanges.limited().makeAsyncIterator()
            #expect(try await changes.next() == .some(alice))
            try home.signOut()
            #expect(try home.account == nil)
            try home.signIn(AccountName("alice"))
            #expect(try await changes.next() == .some(nil))
            #expect(try await changes.next() == .some(alice))
            // Nothing is left over: what is told next is what comes next.
            try home.recheckIdentity()
            try home.signOut()
            #expect(try home.ubiquityIdentityToken == nil)
            #expect(try await changes.next() == .some(nil))
        }
    }

    @Test("a late observer hears the present token first, and a home that nobody has used is watched as well")
    func late() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("new/home"))
            let early = try home.identityChanges.limited().makeAsyncIterator()
            #expect(try await early.next() == .some(nil))
            try home.signIn(AccountName("alice"))
            let token = try home.ubiquityIdentityToken
            #expect(try await early.next() == .some(token))
            let late = try home.identityChanges.limited().makeAsyncIterator()
            #expect(try await late.next() == .some(token))
        }
    }

    @Test("S-025, U-66: the token is read while another process holds the home's lock, and without the home being there")
    func token() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            #expect(try home.ubiquityIdentityToken == nil)
            #expect(!FileManager.default.fileExists(atPath: home.path.string))
            try home.signIn(AccountName("alice"))
            let lock = try FileLock.waiting(for: home.path.appending("lock"))
            defer { withExtendedLifetime(lock) {} }
            #expect(try home.ubiquityIdentityToken != nil)
        }
    }
}
