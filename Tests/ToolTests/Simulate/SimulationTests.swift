import Foundation
import Testing
import ToolProcesses

/// The simulator as CI runs it: few seeds; `Tools/simulate` runs thousands.
struct SimulationTests {
    @Test("peers that write at random over a faulty synchroniser converge")
    func converge() async throws {
        let outcome = try await Tool.run("ubiquity-simulate", ["--peers", "3", "--operations", "25", "--seeds", "1..20"])
        #expect(outcome.status == 0, "\(outcome.output)")
        #expect(outcome.output.hasPrefix("20 seeds of 3 peers and 25 operations: all converged"))
    }

    @Test("so they do with schemas that their seeds make, clocks that are wrong by lifetimes, containers that are put back, newcomers and rebuilds")
    func schemas() async throws {
        let outcome = try await Tool.run("ubiquity-simulate", ["--schemas", "--operations", "25", "--seeds", "1..10"])
        #expect(outcome.status == 0, "\(outcome.output)")
        #expect(outcome.output.hasPrefix("10 seeds and schemas of 3 peers and 25 operations: all converged"))
    }

    @Test("seeds that have failed once converge", arguments: [1155, 3593, 3667, 30311, 31041, 31134, 41602, 42293, 52733])
    func failedOnce(seed: Int) async throws {
        let outcome = try await Tool.run("ubiquity-simulate", ["--schemas", "--seeds", "\(seed)", "--goes-on"])
        #expect(outcome.status == 0, "\(outcome.output)")
    }

    @Test("a seed repeats exactly, to the names of all files that it leaves; another does not")
    func repeats() async throws {
        func fingerprint(_ seeds: String) async throws -> Substring {
            let outcome = try await Tool.run("ubiquity-simulate", ["--operations", "25", "--seeds", seeds])
            return try #require(outcome.output.firstMatch(of: /fingerprint (\w{16})\n/)).1
        }
        let first = try await fingerprint("1..2")
        #expect(try await fingerprint("1..2") == first)
        #expect(try await fingerprint("1..1") != first)
    }

    @Test("a seed is one number or a range; anything else is refused")
    func seeds() async throws {
        #expect(try await Tool.run("ubiquity-simulate", ["--seeds", "5..1"]).status == 64)
        #expect(try await Tool.run("ubiquity-simulate", ["--seeds", "x"]).status == 64)
        #expect(try await Tool.run("ubiquity-simulate", ["--peers", "1"]).status == 64)
        #expect(try await Tool.run("ubiquity-simulate", ["--only", "3,x"]).status == 64)
        #expect(try await Tool.run("ubiquity-simulate", ["--only", "3", "--seeds", "1..2"]).status == 64)
    }
}
