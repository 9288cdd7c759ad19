import Foundation
import Testing
import ToolProcesses

/// The example whose set-up two programs share.
struct PeopleTests {
    @Test("S-177: what one program of the example saves the other shows, for both are built on one set-up")
    func shared() async throws {
        try await withDevices(1) { devices in
            for (name, email, state) in [("Ann", "ann@example.org", "VT"), ("Ben", "ben@example.org", "VT"), ("Cid", "cid@example.org", "OR")] {
                let outcome = try await devices[0].run("people", "add", name, "--email", email, "--state", state)
                #expect(outcome.status == 0, "\(outcome)")
            }
            let table = try await devices[0].run("people-by-state")
            #expect(table.status == 0 && table.output.contains("Vermont") && table.output.contains("Oregon"), "\(table)")
            _ = try await devices[0].run("people", "rm", "cid@example.org")
            let now = try await devices[0].run("people-by-state")
            #expect(now.output.contains("Vermont") && !now.output.contains("Oregon"), "\(now)")
        }
    }
}
