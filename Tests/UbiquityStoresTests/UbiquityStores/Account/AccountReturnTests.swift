import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores
import UbiquityTesting
import Waiting

/// An account that goes and comes back while the store is on its way.
@Suite("An account that comes back at any moment")
struct AccountReturnTests {
    /// What the store is about when the account comes back.
    enum Way: CaseIterable {
        /// It leaves for the file of this device.
        case out
        /// The account has come, and it is on its way there.
        case back
        /// It cannot leave: the file of this device cannot be made.
        case stuck

        /// The moments at which the account comes back in any case.
        var needed: [KeeperMoment] {
            switch self {
            case .out: [.looked, .done(.swap), .begins(.tellDidChange)]
            case .back: [.looked, .done(.prepare), .begins(.swap)]
            case .stuck: [.looked, .failed(.prepare)]
            }
        }
    }

    @Test("Whenever an account is back, the store is on its way to it and exchanges again, though nobody asks", arguments: Way.allCases)
    func returns(way: Way) async throws {
        var moments: [KeeperMoment] = []
        // A store that is stuck tries again and again: its moments have no end.
        while way != .stuck || !moments.contains(.failed(.prepare)) && moments.count < 20, let moment = try await comesBack(way, at: moments.count) {
            moments.append(moment)
        }
        // The look of the store's watch comes at any place among the others and shifts the numbers of those behind it, so
        // a moment may have had none of the numbers.
        for needed in way.needed where !moments.contains(needed) {
            if let moment = try await comesBack(way, at: moments.count, or: needed) { moments.append(moment) }
        }
        #expect(way.needed.allSatisfy(moments.contains), "\(moments)")
    }

    /// Signs the account out and in again at the moment of that number, or at the first one that is needed.
    ///
    /// - Returns: the moment; nil where there are not so many.
    private func comesBack(_ way: Way, at number: Int, or needed: KeeperMoment? = nil) async throws -> KeeperMoment? {
        var moment: KeeperMoment?
        try await withDevices(2) { devices, root in
            let (home, alice) = (devices[0].home, try AccountName("alice"))
            let turn = Turn(at: number, or: needed)
            let store = try await UbiquitousStore.open(
                at: devices[0].directory.appending("People.sqlite"), options: .init(contentName: "People"), container: "org.example.test",
                home: home, schema: personSchema, now: { Date() }, moments: { turn.pass($0) })
            try await until("the account's file is in use") { await store.place == .account(alice) }
            let other = try await devices[1].open(automatically: true)
            if way == .stuck {
                // A directory stands where the file would be.
                let local = "CoreDataUbiquitySupport/local~00000000-0000-0000-0000-000000000001/People/store/People.sqlite"
                try FileManager.default.createDirectory(
                    atPath: devices[0].directory.string + "/" + local, withIntermediateDirectories: true)
            }
            if way == .back {
                try home.signOut()
                try await until("the device's own file is in use") { await store.place == .local }
            }
            turn.arm {
                if way == .back { try home.signOut() }
                try home.signIn(alice, containers: root)
            }
            if way == .back { try home.signIn(alice, containers: root) } else { try home.signOut() }
            if way == .stuck {
                try await until("the moment \(number)") { turn.isDone }
            } else {
                _ = try? await within("the store to settle") { try await store.settled() }
            }
            try await store.insert("a\(number)")
            moment = try turn.end()
            // It arrives without a call.
            let observation = ValueObservation.tracking { db in try String.fetchAll(db, sql: "SELECT id FROM person") }
            for try await keys in observation.values(in: other).limited("a\(number)") where keys == ["a\(number)"] { break }
            try await until("the account's file is in use again", seen: { "\(await store.place!)" }) { await store.place == .account(alice) }
            try await store.close()
            try await other.close()
        }
        return moment
    }
}

/// Does something at one of the moments that pass.
private final class Turn: Sendable {
    private struct State {
        var left: Int
        /// The moment that is waited for; nil for the one of the number.
        var needed: KeeperMoment?
        var body: (@Sendable () throws -> Void)?
        var moment: KeeperMoment?
        var failure: (any Error)?
    }
    private let state: Mutex<State>

    init(at number: Int, or needed: KeeperMoment?) { state = Mutex(State(left: number, needed: needed)) }

    /// Whether its moment has come.
    var isDone: Bool { state.withLock { $0.moment != nil } }

    /// Counts from now on.
    func arm(_ body: @escaping @Sendable () throws -> Void) { state.withLock { $0.body = body } }

    func pass(_ moment: KeeperMoment) {
        state.withLock { state in
            guard let body = state.body else { return }
            guard state.needed.map({ $0 == moment }) ?? (state.left == 0) else {
                state.left -= 1
                return
            }
            (state.body, state.moment) = (nil, moment)
            do { try body() } catch { state.failure = error }
        }
    }

    /// Does it now where its moment has not come.
    ///
    /// - Returns: the moment at which it was done.
    /// - Throws: what it has thrown.
    func end() throws -> KeeperMoment? {
        let (body, moment, failure) = state.withLock { state in
            defer { state.body = nil }
            return (state.body, state.moment, state.failure)
        }
        if let failure { throw failure }
        try body?()
        return moment
    }
}
