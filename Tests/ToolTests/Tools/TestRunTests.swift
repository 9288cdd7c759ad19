import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// What `Tools/watch-tests` says of a run of tests.
struct TestRunTests {
    private static let program = packageDirectory.appending("Tools/watch-tests").string

    private func watch(_ options: String..., script: String) async throws -> Tool.Outcome {
        try await Tool.run("/usr/bin/python3", [Self.program] + options + ["/bin/sh", "-c", script, "sh", "EVENTS"])
    }

    /// A line of a shell script that says that a case begins or ends.
    private func event(_ kind: String, _ test: String, at seconds: Double, case name: String = "") -> String {
        let payload =
            #"{"kind":"testCase\#(kind)","instant":{"absolute":\#(seconds)},"testID":"\#(test)","_testCase":{"id":"\#(name)","displayName":"\#(name)"}}"#
        return #"echo '{"kind":"event","payload":\#(payload),"version":0}' >> "$1""#
    }

    /// One that gives a test its name.
    private func test(_ id: String, _ name: String) -> String {
        #"echo '{"kind":"test","payload":{"id":"\#(id)","name":"\#(id)","displayName":"\#(name)"},"version":0}' >> "$1""#
    }

    @Test("A run that hangs is ended with the names of the tests that still run, and of their programs")
    func hangs() async throws {
        let script = [
            test("a", "It waits"), test("b", "It is quick"), event("Started", "a", at: 1, case: "second"), event("Started", "b", at: 1),
            event("Ended", "b", at: 1.5), "sleep 3600",
        ].joined(separator: "\n")
        for option in ["--limit", "--silence"] {
            var (said, isTold) = ("", false)
            // The script may not have got so far, or nobody may have heard it: then it gets more time.
            for minutes in ["0.02", "0.1", "0.5"] where !isTold {
                let outcome = try await watch(option, minutes, script: script)
                #expect(outcome.status == 124)
                said = String(try #require(outcome.output.split(separator: "Still running:").last))
                isTold =
                    said.contains(" s  It waits (second)\n") && said.contains("sleep 3600") && said.contains("0.5 s  It is quick")
                    && said.split(separator: "It is quick").count == 2
            }
            #expect(isTold, "\(said)")
        }
    }

    @Test("The slowest tests are named first, and issues once more at the end, with the command's status")
    func ends() async throws {
        let script = [
            test("a", "One"), test("b", "Two"), event("Started", "b", at: 0), event("Started", "a", at: 0, case: "x"),
            event("Ended", "a", at: 2, case: "x"), event("Started", "a", at: 2, case: "y"), event("Ended", "a", at: 5, case: "y"),
            "echo '✘ Test \"Two\" recorded an issue at Two.swift:1:1: it is not so'", event("Ended", "b", at: 3.5), "sleep 1", "exit 3",
        ].joined(separator: "\n")
        let outcome = try await watch(script: script)
        #expect(outcome.status == 3)
        let end = try #require(outcome.output.split(separator: "The slowest of 2 tests").last)
        let (first, second) = (try #require(end.firstRange(of: "5.0 s  One")), try #require(end.firstRange(of: "3.5 s  Two")))
        #expect(first.lowerBound < second.lowerBound)
        #expect(end.split(separator: "What failed:").last?.contains("it is not so") == true)
    }
}
