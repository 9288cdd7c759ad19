import Foundation
import SystemPackage
import Testing
import ToolProcesses

@Suite("A container that is taken away while two devices write", .timeLimit(.minutes(40)))
struct WipeMomentTests {
    @Test(
        "S-098: at ten moments a container is deleted, moved away, unmounted, half deleted or replaced: no store loses a save, nothing hangs, reports are right"
    )
    func moments() async throws {
        let outcome = try await Tool.run(
            "/usr/bin/unshare", ["-Urm", Tool.path("ubiquity-wipes").string, "moments", "--seeds", "1..10", "--pace", "60"])
        #expect(
            outcome.status == 0, "\(outcome.output.split(separator: "\n").filter { $0.contains("FAILED") }.joined(separator: "\n")) \(outcome.errors)"
        )
        #expect(outcome.output.split(separator: "\n").count == 10)
    }
}
