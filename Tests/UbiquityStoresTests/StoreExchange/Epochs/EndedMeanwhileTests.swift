import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// A store's content is removed while another store exchanges.
struct EndedMeanwhileTests {
    @Test("A peer whose directories another removes with their epoch, after it has read the marks, starts over and takes that for no wipe")
    func startsOver() async throws {
        try await withDevices(2) { devices, _ in
            let (one, two) = try await (devices[0].open(), devices[1].open())
            try await two.execute("INSERT INTO person (id) VALUES ('p')")
            try await settle(one, two)
            let state = try await two.read { db in try StoreState.read(db) }
            let context = two.runner.context
            func check() throws -> ExchangeOutcome {
                var content = KnownContent(state)
                var machine = ExchangeStateMachine(context.rules, epoch: state.epoch, at: .now)
                return try StepPerformer(context: context) {}.perform(.checkAttachment, &content, &machine)
            }
            guard case .attachment(.attached) = try check() else { throw Unexpected() }
            try await one.removeAll()
            #expect(try await devices[1].endedFiles(before: 2) == [])
            #expect(throws: GivesWay.self) { try check() }
            try await settle(two)
            #expect(try await two.status().suspended == nil)
            #expect(try await two.rows() == [])
        }
    }

    private struct Unexpected: Error {}
}
