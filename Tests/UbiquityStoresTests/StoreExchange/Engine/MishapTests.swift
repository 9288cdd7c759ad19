import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreInspection
@testable import UbiquityStores

/// What befalls a container in the middle of each operation of a store.
@Suite(.timeLimit(.minutes(40)))
struct MishapTests {
    /// One operation, on a store that has `a` in common with another device, and `l` of its own that has not gone out.
    struct Operation: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// What a device that is not disturbed shows afterwards, and its peer.
        var expected: [String]
        var isSignedOut = false
        /// What happens to the container before, if anything.
        var loss: WipePolicyTests.Loss?
        var body: @Sendable (UbiquitousStore, TestDevice, FilePath) async throws -> Void
    }

    static let operations = [
        Operation(testDescription: "exchange", expected: ["a", "l", "o"]) { store, _, _ in try await store.settled() },
        Operation(testDescription: "sign-in and join", expected: ["a", "l", "o"], isSignedOut: true) { store, device, root in
            if try device.home.account == nil { try device.home.signIn(AccountName("alice"), containers: root) }
            try await store.settled()
        },
        Operation(testDescription: "rebuild", expected: ["a", "l", "o"]) { store, _, _ in
            try await store.rebuildFromUbiquitousContent()
            try await store.settled()
        },
        Operation(testDescription: "removal", expected: []) { store, _, _ in
            _ = try await store.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: "People"))
        },
        Operation(testDescription: "republishing", expected: ["a", "l", "o"], loss: .content) { store, _, _ in
            if try await store.status().suspended != nil { try await store.answerWipe(.republish) }
            try await store.settled()
        },
        Operation(testDescription: "following", expected: [], loss: .content) { store, _, _ in
            if try await store.status().suspended != nil { try await store.answerWipe(.follow) }
            try await store.settled()
        },
    ]

    @Test(
        "a disk that is full from the middle of an operation on, or a container that vanishes there, costs nothing: when that is over, it is done as if nothing had been",
        arguments: Mishap.allCases, operations)
    func mishaps(mishap: Mishap, operation: Operation) async throws {
        // How many calls the operation makes where nothing happens; of these some moments, always the same, the last one too.
        let calls = try await happen(mishap, at: .max, operation)
        #expect(calls > 5, "\(operation.testDescription) looks at its container")
        for part in 0...5 { _ = try await happen(mishap, at: max(1, calls * part / 5), operation) }
    }

    /// Runs an operation with a mishap at one call, mends it, and compares.
    ///
    /// - Returns: how many calls it made.
    private func happen(_ mishap: Mishap, at moment: Int, _ operation: Operation) async throws -> Int {
        var calls = 0
        try await withDevices(2) { devices, root in
            let comment = Comment(rawValue: "\(mishap) at call \(moment) of \(operation.testDescription)")
            let other = try await devices[1].open()
            for key in ["a", "o"] { try await other.insert(key) }
            try await other.settled()
            let container = try await devices[1].container().path
            let files = MishapFileLayer(mishap, below: container)
            if operation.isSignedOut { try devices[0].home.signOut() }
            let store = try await devices[0].open(over: files)
            if !operation.isSignedOut { try await settle(store, other) }
            if let loss = operation.loss {
                try loss.happen(to: try await devices[1].container())
                await #expect(throws: UbiquitousStoreError.self, comment) { try await store.settled() }
            }
            try await store.insert("l")
            let before = try await store.keys()
            files.arm(at: moment)
            var failure: (any Error)?
            do {
                try await operation.body(store, devices[0], root)
            } catch {
                failure = error
            }
            calls = files.calls
            // Reads and saves go on meanwhile, on what was there.
            if failure != nil, !operation.expected.isEmpty { #expect(Set(try await store.keys()).isSuperset(of: before), comment) }
            // Nobody makes a container again without being told to.
            let isBack = try files.mend()
            #expect(isBack || operation.loss != nil, comment)
            if failure != nil { try await operation.body(store, devices[0], root) }
            if operation.loss == nil { try await settle(store, other, store) } else { try await store.settled() }
            #expect(try await store.keys() == operation.expected, comment)
            if operation.loss == nil { #expect(try await other.keys() == operation.expected, comment) }
            let verification = try ContainerVerification(of: container)
            #expect(verification.isSound, "\(comment): \(verification)")
            try await store.close()
            try await other.close()
        }
        return calls
    }
}
