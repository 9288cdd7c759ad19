import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityStores

/// A store file that another process writes to.
struct SharedFileTests {
    @Test("a store that has been opened before opens, is read, and exchanges nothing while another process holds the write lock")
    func opensBesideAWriter() async throws {
        try await withDevices(1) { devices, _ in
            let first = try await devices[0].open()
            try await first.execute("INSERT INTO person (id, first) VALUES ('p', 'A')")
            try await first.settled()
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: first.file.string, configuration: configuration)
            try await first.close()
            try await other.writeWithoutTransaction { db in try db.execute(sql: "BEGIN IMMEDIATE") }
            // Each of these would wait half a minute for the lock, and fail.
            let second = try await devices[0].open()
            #expect(try await second.rows().count == 1)
            try await second.settled()
            try await other.writeWithoutTransaction { db in try db.execute(sql: "COMMIT") }
            try await second.execute("UPDATE person SET first = 'B'")
            #expect(try await second.sealedLogs().count == 1)
            try await second.close()
        }
    }

    @Test("the file of the lock names who exchanges, and is written only when that is another process than before")
    func lockFile() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            let lock = store.file.string + "-exchange"
            let long = "1234567890\n"
            try Data(long.utf8).write(to: URL(filePath: lock))
            try await store.settled()
            #expect(try String(contentsOfFile: lock, encoding: .utf8) == "\(ProcessInfo.processInfo.processIdentifier)\n")
            let past = Date(timeIntervalSince1970: 1_000_000_000)
            try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: lock)
            try await store.execute("INSERT INTO person (id) VALUES ('p')")
            try await store.settled()
            #expect(try FileManager.default.attributesOfItem(atPath: lock)[.modificationDate] as? Date == past)
            try await store.close()
        }
    }
}
