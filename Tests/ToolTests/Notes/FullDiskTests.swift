import Foundation
import SystemPackage
import Testing
import ToolProcesses

@Suite("A container on a full disk", .timeLimit(.minutes(40)))
struct FullDiskTests {
    @Test("S-179: where the container has no room, saves succeed in the store, the status says why, and all go out in order when there is room")
    func full() async throws {
        try await withDevices(2) { devices in
            let (first, second) = (devices[0], devices[1])
            // A file system of its own for the root, with the tools in its namespace.
            let notes = Tool.path("notes")
            let script = """
                mount -t tmpfs -o size=256k none \(first.root) || exit 77
                \(notes) add one --home \(first.home) || exit 1
                head -c 1000000 /dev/zero > \(first.root)/filler 2>/dev/null
                for i in two three four; do \(notes) add $i --home \(first.home) || exit 2; done
                echo "-- status"; \(notes) status --home \(first.home); echo "-- list"; \(notes) list --home \(first.home)
                echo "-- new"; \(Tool.path("ubcontrol")) container create org.example.other --home \(first.home); echo "status $?"
                rm \(first.root)/filler
                echo "-- after"; \(notes) list --home \(first.home); echo "-- other"; \(notes) list --home \(second.home)
                """
            let outcome = try await Tool.run("/usr/bin/unshare", ["-Urm", "/bin/sh", "-c", script])
            #expect(outcome.status == 0, "\(outcome)")
            let warnings = outcome.errors.split(separator: "\n").filter { $0.hasPrefix("Saved on this device only: ") }
            #expect(warnings.count == 3, "\(outcome.errors)")
            #expect(warnings.allSatisfy { $0.contains("No space left on device") || $0.contains("free space") }, "\(outcome.errors)")
            var parts: [String: [Substring]] = [:]
            var part = ""
            for line in outcome.output.split(separator: "\n") {
                if line.hasPrefix("-- ") { part = String(line.dropFirst(3)) } else { parts[part, default: []].append(line) }
            }
            func titles(_ part: String) -> [String] {
                ["one", "two", "three", "four"].filter { title in parts[part]?.contains { $0.contains(title) } == true }
            }
            #expect(titles("list").count == 4, "\(outcome)")
            #expect(parts["status"]?.contains { $0.hasPrefix("failed: ") && $0.contains("No space left on device") } == true, "\(outcome)")
            #expect(titles("other") == ["one", "two", "three", "four"], "\(outcome)")
            #expect(parts["new"]?.last == "status 1", "\(outcome)")
        }
    }
}
