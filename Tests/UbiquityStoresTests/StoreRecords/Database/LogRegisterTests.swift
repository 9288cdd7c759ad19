import Foundation
import GRDB
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreFormat
@testable import StoreRecords

/// Which logs of a listing a store does not know.
struct LogRegisterTests {
    private let own = PeerIdentifier(account: "alice", uuid: UUID())
    private let other = PeerIdentifier(account: "alice", uuid: UUID())

    private func name(_ sequence: Int64, _ branch: UInt8 = 0) -> LogFileName {
        LogFileName(sequence: sequence, hash: ContentHash(of: [UInt8(truncatingIfNeeded: sequence), branch]))
    }

    /// Runs a body with a register in which logs of the other peer are entered, and logs of this store wait in the outbox.
    private func withRegister(entered: [LogFileName], sealed: [LogFileName], _ body: (LogRegister, Database) throws -> Void) throws {
        try DatabaseQueue().write { db in
            for statement in StoreTables.statements { try db.execute(sql: statement) }
            let number = try StoreKnowledge.number(of: other, db)
            for name in entered {
                try db.execute(
                    sql: "INSERT INTO ubiquity_log VALUES (?,?,?,0)", arguments: [number.rawValue, name.sequence, Data(name.hash.bytes)])
            }
            for name in sealed {
                try db.execute(
                    sql: "INSERT INTO ubiquity_outbox VALUES (?,?,0,0,x'')", arguments: [name.sequence, Data(name.hash.bytes)])
            }
            try body(LogRegister(own: own, db), db)
        }
    }

    @Test("of a listing in any order, exactly the logs that are not entered are unknown, another branch of a sequence too")
    func gapsAndBranches() throws {
        let all = (1...40).map { name($0) } + [name(7, 1), name(7, 2), name(20, 1)]
        var generator = SeededRandom(seed: 20_261_121)
        for _ in 0..<50 {
            let entered = all.filter { _ in Bool.random(using: &generator) }
            let listed = all.filter { _ in Bool.random(using: &generator) }.shuffled(using: &generator)
            try withRegister(entered: entered, sealed: []) { register, _ in
                let unknown = try register.unknown(among: listed, of: other)
                #expect(unknown == listed.filter { !entered.contains($0) }.sorted(), "entered \(entered.map(\.sequence))")
            }
        }
    }

    @Test("a log of this store that waits to be published is known, though no log of its own has been entered")
    func sealed() throws {
        try withRegister(entered: [], sealed: [name(1)]) { register, _ in
            let mine = try register.unknown(among: [name(1), name(1, 1)], of: own)
            #expect(mine == [name(1, 1)])
            let others = try register.unknown(among: [name(1)], of: other)
            #expect(others == [name(1)])
        }
    }

    @Test("a listing is compared by one statement, however long it is")
    func oneStatement() throws {
        let names = (1...500).map { name($0) }
        try withRegister(entered: names, sealed: []) { register, db in
            var statements = 0
            db.trace { _ in statements += 1 }
            let unknown = try register.unknown(among: names, of: other)
            db.trace()
            #expect(unknown.isEmpty)
            #expect(statements == 1)
        }
    }
}
