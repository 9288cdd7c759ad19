import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreRecords

/// Connections that close while somebody reads.
struct StorePoolTests {
    private func withPool(isConcurrent: Bool, _ body: (StorePool) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("a.sqlite").string
            let pool = StorePool(isConcurrent ? try DatabasePool(path: path) : try DatabaseQueue(path: path))
            try await pool.write { db in try db.execute(sql: "CREATE TABLE t (v); INSERT INTO t VALUES (1)") }
            try await body(pool)
        }
    }

    @Test("a read of closed connections is refused, in every form", arguments: [true, false])
    func closed(isConcurrent: Bool) async throws {
        try await withPool(isConcurrent: isConcurrent) { pool in
            func isRefusal(_ error: any Error) -> Bool { (error as? DatabaseError)?.resultCode == .SQLITE_MISUSE }
            try await blocking { try pool.close() }
            await #expect { try await pool.read { db in try Int.fetchOne(db, sql: "SELECT v FROM t") } } throws: { isRefusal($0) }
            await #expect {
                try await blocking { try pool.read { db in try Int.fetchOne(db, sql: "SELECT v FROM t") } }
            } throws: {
                isRefusal($0)
            }
            let error: (any Error)? = await withCheckedContinuation { continuation in
                pool.asyncRead { result in
                    if case .failure(let error) = result { continuation.resume(returning: error) } else { continuation.resume(returning: nil) }
                }
            }
            #expect(error.map(isRefusal) == true)
            try await blocking { try pool.close() }
        }
    }

    @Test("reads that come while connections close are answered or refused, and end no process", arguments: [true, false])
    func closing(isConcurrent: Bool) async throws {
        for _ in 0..<30 {
            try await withPool(isConcurrent: isConcurrent) { pool in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for reader in 0..<6 {
                        group.addTask {
                            do {
                                while true {
                                    let value =
                                        if reader.isMultiple(of: 2) {
                                            try await blocking { try pool.read { db in try Int.fetchOne(db, sql: "SELECT v FROM t") } }
                                        } else {
                                            try await pool.read { db in try Int.fetchOne(db, sql: "SELECT v FROM t") }
                                        }
                                    #expect(value == 1)
                                }
                            } catch let error as DatabaseError {
                                #expect(error.resultCode == .SQLITE_MISUSE)
                            }
                        }
                    }
                    _ = try await pool.read { db in try Int.fetchOne(db, sql: "SELECT v FROM t") }
                    try await blocking { try pool.close() }
                    try await group.waitForAll()
                }
            }
        }
    }
}
