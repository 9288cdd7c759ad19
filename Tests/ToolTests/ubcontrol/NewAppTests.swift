import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// The app that `ubcontrol new` writes, built and used.
struct NewAppTests {
    /// Writes an app with a directory for its build.
    private func withApp(_ body: (_ app: FilePath, _ build: FilePath) async throws -> Void) async throws {
        try await withAppDirectory { directory in
            let (app, build) = (directory.appending("Shopping"), directory.appending("build"))
            try FileManager.default.createDirectory(atPath: build.string, withIntermediateDirectories: false)
            let outcome = try await Tool.run("ubcontrol", ["new", "Shopping", "--directory", app.string, "--package", packageDirectory.string])
            try #require(outcome.status == 0, "\(outcome)")
            try await body(app, build)
        }
    }

    /// The entry point of a program that runs the tests linked into it.
    private static let runner = """
        import Testing

        @main struct Runner {
            static func main() async { await Testing.__swiftPMEntryPoint() as Never }
        }
        """

    @Test("I-03: The app that ubcontrol new writes compiles without a warning, its tests pass, and its program shares items between two devices")
    func builds() async throws {
        try await withApp { app, directory in
            let build = try await AppBuild(into: directory)
            let store = try await build.compile("ShoppingStore", app.appending("Sources/ShoppingStore"))
            let program = try await build.link("shopping", [app.appending("Sources/shopping")], with: [store])
            try await use(program, in: directory)

            let main = directory.appending("Runner.swift")
            try Data(Self.runner.utf8).write(to: URL(filePath: main.string))
            let tests = try await build.link("ShoppingTests", [app.appending("Tests/ShoppingTests"), main], with: [store])
            let outcome = try await Tool.run(tests.string, ["--testing-library", "swift-testing"])
            #expect(outcome.status == 0 && "\(outcome)".contains("Test run with 3 tests"), "\(outcome)")
        }
    }

    /// Uses the program on two devices that share a directory.
    private func use(_ program: FilePath, in directory: FilePath) async throws {
        let shared = directory.appending("shared").string
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        func environment(_ device: String) -> [String: String] {
            ["XDG_DATA_HOME": directory.appending(device).string, "UBIQUITY_HOME": directory.appending("\(device)/ubiquity").string]
        }
        func shopping(_ device: String, _ arguments: String...) async throws -> Tool.Outcome {
            try await Tool.run(program.string, arguments, environment: environment(device))
        }
        // Signed out, the list is the device's; it joins the account's.
        #expect(try await shopping("desk", "add", "Milk").status == 0)
        #expect(try await shopping("desk").output == "[ ] Milk\n")
        for device in ["desk", "phone"] {
            let outcome = try await Tool.run("ubcontrol", ["sign-in", "alice", "--containers", shared], environment: environment(device))
            #expect(outcome.status == 0, "\(outcome)")
        }
        #expect(try await shopping("desk", "list").output == "[ ] Milk\n")
        let running = try await RunningTool(program.string, ["run"], environment: environment("desk"))
        let lines = running.lines.limited("the import").makeAsyncIterator()
        // From this line on it tells of imports; one before it would pass untold.
        #expect(try await lines.next() == "Waiting for other devices, until Ctrl-C.")
        #expect(try await shopping("phone", "done", "Milk").status == 0)
        var told: String?
        repeat { told = try await lines.next() } while told?.hasSuffix("0 new, 1 changed, 0 removed") == false
        #expect(told != nil, "it has ended before it told of the import")
        try await running.stop()
        #expect(try await shopping("desk").output == "[x] Milk\n")
        let missing = try await shopping("phone", "done", "Beer")
        #expect(missing.status == 1 && missing.errors.contains("There is no item “Beer”"), "\(missing)")
        let wrong = try await shopping("phone", "add")
        #expect(wrong.status == 64 && wrong.errors.hasPrefix("Usage: shopping"), "\(wrong)")
    }

    @Test(
        "I-03: SwiftPM builds the app, and its tests pass",
        .enabled(if: ProcessInfo.processInfo.environment["UBIQUITY_NEW_APP"] != nil, "It compiles the package again: set UBIQUITY_NEW_APP"))
    func package() async throws {
        try await withApp { app, _ in
            // The versions that this build has: no server is asked for newer ones.
            let pins = packageDirectory.appending("Package.resolved").string
            if FileManager.default.fileExists(atPath: pins) {
                try FileManager.default.copyItem(atPath: pins, toPath: app.appending("Package.resolved").string)
            }
            let outcome = try await Tool.run("/usr/bin/env", ["swift", "test", "--package-path", app.string], limit: .seconds(3600))
            #expect(outcome.status == 0 && "\(outcome)".contains("Test run with 3 tests"), "\(outcome)")
        }
    }
}
