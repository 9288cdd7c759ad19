import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// What `Tools/watch-tests` says of a run of tests.
struct TestRunTests {
    private static let program = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent()
        .appending("Tools/watch-tests").string

    private func watch(_ options: String..., script: String) async throws -> Tool.Outcome {
        try await Tool.run("/usr/bin/python3", [Self.program] + options + ["/bin/sh", "-c", script])
    }

    @Test("A run that hangs is ended with the names of the tests that still run, and of their programs")
    func hangs() async throws {
        let script = """
            echo '◇ Test "It waits" started.'
            echo '◇ Test quick() started.'
            echo '✔ Test quick() passed after 0.500 seconds.'
            sleep 3600
            """
        for option in ["--limit", "--silence"] {
            let outcome = try await watch(option, "0.01", script: script)
            #expect(outcome.status == 124)
            let said = try #require(outcome.output.split(separator: "Still running:").last)
            #expect(said.contains("\"It waits\"") && said.contains("sleep 3600"), "\(outcome)")
            #expect(said.contains("0.5 s  quick()") && !said.contains("s  quick()\nTheir"), "\(outcome)")
        }
    }

    @Test("The slowest tests are named first, and issues once more at the end, with the command's status")
    func ends() async throws {
        let script = """
            echo '◇ Test "One" started.'
            echo '◇ Test "Two" started.'
            echo '✔ Test "One" with 3 test cases passed after 2.000 seconds.'
            echo '✘ Test "Two" recorded an issue at Two.swift:1:1: it is not so'
            echo '✘ Test "Two" failed after 7.000 seconds with 1 issue.'
            exit 3
            """
        let outcome = try await watch(script: script)
        #expect(outcome.status == 3)
        let end = try #require(outcome.output.split(separator: "The slowest of 2 tests").last)
        let (first, second) = (try #require(end.firstRange(of: "7.0 s  \"Two\"")), try #require(end.firstRange(of: "2.0 s  \"One\"")))
        #expect(first.lowerBound < second.lowerBound)
        #expect(end.split(separator: "What failed:").last?.contains("it is not so") == true)
    }
}
