import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// `ubcontrol status`, and what the doctor and a wipe say of stores that do not exchange.
struct DeviceStatusTests {
    private struct Status: Decodable {
        struct Part: Decodable {
            var path: String
            var hindrance: String?
            var remedies: [String]
        }

        struct Unsent: Decodable { var account: String }

        var account: String?
        var containers: [Part]
        var stores: [Part]
        var unsent: [Unsent]
        var isWell: Bool
    }

    private func status(_ device: ToolDevice) async throws -> (status: Int32?, text: String, facts: Status) {
        let text = try await device.run("ubcontrol", "status")
        let json = try await device.run("ubcontrol", "status", "--json")
        #expect(text.status == json.status && text.errors.isEmpty && json.errors.isEmpty, "\(text) \(json)")
        return (text.status, text.output, try JSONDecoder().decode(Status.self, from: Data(json.output.utf8)))
    }

    /// Runs the doctor with a broker's place of the test's own.
    private func doctor(_ device: ToolDevice) async throws -> Tool.Outcome {
        let runtime = device.home.removingLastComponent().appending("run")
        try FileManager.default.createDirectory(atPath: runtime.string, withIntermediateDirectories: true)
        return try await device.run("ubcontrol", "doctor", environment: ["XDG_RUNTIME_DIR": runtime.string])
    }

    /// Runs a command as it was printed.
    private func run(_ line: String) async throws -> Tool.Outcome {
        try await Tool.run(
            "/bin/bash", ["-c", line], environment: ["PATH": "\(Tool.path("ubcontrol").removingLastComponent()):/usr/bin:/bin"])
    }

    @Test("ubcontrol status shows the account, containers and stores, says whether anything is in the way, and ends with 1 while signed out")
    func overview() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            let fresh = try await status(device)
            #expect(
                fresh.status == 0 && fresh.facts.isWell && fresh.text.hasPrefix("alice, containers in \(device.root)\nno containers yet"), "\(fresh)")
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            let used = try await status(device)
            #expect(used.status == 0 && used.facts.containers.map(\.path) == [device.container.string], "\(used)")
            #expect(used.text.contains("container org.example.notes: attached; \(device.container)\n"), "\(used)")
            #expect(used.text.contains("store Notes in org.example.notes: 1 record; all has gone out; "), "\(used)")
            #expect(used.text.hasSuffix("nothing is in the way\n"), "\(used)")
            #expect(try await device.run("ubcontrol", "sign-out").status == 0)
            let out = try await status(device)
            #expect(out.status == 1 && out.facts.account == nil && out.text.hasPrefix("nobody is signed in at \(device.home)"), "\(out)")
        }
    }

    @Test("U-79: what has not gone out is listed after a sign-out, for each account that is not signed in, until it has gone out")
    func unsent() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            func waiting() async throws -> [String] { try await status(device).facts.unsent.map(\.account) }
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            #expect(try await waiting().isEmpty)
            let store = try device.storeFile().string
            #expect(try await Tool.run("ubcontrol", ["store", "pause", store]).status == 0)
            #expect(try await device.run("notes", "add", "Eggs").status == 0)
            // It is told of the store itself as long as its account is signed in.
            let before = try await status(device)
            #expect(before.facts.unsent.isEmpty && before.text.contains("2 records; not all has gone out"), "\(before)")
            #expect(try await device.run("ubcontrol", "sign-out").status == 0)
            let out = try await status(device)
            #expect(out.facts.unsent.map(\.account) == ["alice"] && out.text.contains("saves of alice have not gone out"), "\(out)")
            #expect(try await device.run("ubcontrol", "sign-in", "bob", "--containers", device.root.string).status == 0)
            #expect(try await waiting() == ["alice"])
            #expect(try await device.run("ubcontrol", "sign-in", "alice", "--containers", device.root.string).status == 0)
            #expect(try await Tool.run("ubcontrol", ["store", "resume", store]).status == 0)
            #expect(try await device.run("notes", "list").status == 0)
            #expect(try await device.run("ubcontrol", "sign-out").status == 0)
            #expect(try await waiting().isEmpty)
        }
    }

    @Test("a paused store is in the way, for status and doctor, with the exact command that ends it")
    func paused() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            let store = try device.storeFile().string
            #expect(try await Tool.run("ubcontrol", ["store", "pause", store]).status == 0)
            let found = try await status(device)
            #expect(found.status == 1 && !found.facts.isWell && found.facts.stores.first?.remedies == ["ubcontrol store resume \(store)"], "\(found)")
            let doctor = try await self.doctor(device)
            #expect(doctor.status == 1 && doctor.output.contains("something is in the way"), "\(doctor)")
            #expect(doctor.output.contains("it is paused: nothing goes out or in"), "\(doctor)")
            let command = "ubcontrol store resume \(store)"
            #expect(doctor.output.contains(command) && found.text.contains(command), "\(doctor)")
            #expect(try await run(command).status == 0)
            #expect(try await self.doctor(device).status == 0)
            #expect(try await status(device).status == 0)
        }
    }

    @Test("in the midst of a wipe the doctor says so, and after it, that stores are suspended")
    func wiping() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            // As a wipe leaves it that has only begun.
            let remains = device.container.appending(".CoreData.0.nosync")
            try FileManager.default.moveItem(atPath: device.container.appending("CoreData").string, toPath: remains.string)
            let doctor = try await self.doctor(device)
            #expect(doctor.status == 1 && doctor.output.contains("\(remains): a wipe is running or was interrupted"), "\(doctor)")
            #expect(doctor.output.contains("ubcontrol container wipe org.example.notes"), "\(doctor)")
            #expect(try await status(device).facts.containers.first?.remedies == ["ubcontrol container wipe org.example.notes"])
            #expect(try await device.run("ubcontrol", "container", "wipe", "org.example.notes", "--yes").status == 0)
            let after = try await self.doctor(device)
            #expect(after.status == 1 && !after.output.contains("a wipe is running"), "\(after)")
            #expect(after.output.contains("its content is gone from the container: it is suspended, and keeps everything"), "\(after)")
        }
    }

    @Test("a wipe, and resuming after it, name the exact commands for each store, on each device, and these bring everything back")
    func wipeAdvice() async throws {
        try await withDevices(2) { devices in
            for device in devices { #expect(try await device.run("notes", "add", "Milk").status == 0) }
            for device in devices { #expect(try await device.list().count == 2) }
            let wipe = try await devices[0].run("ubcontrol", "container", "wipe", "org.example.notes", "--yes")
            for (device, told) in zip(devices, [wipe, try await devices[1].run("ubcontrol", "container", "resume", "org.example.notes")]) {
                let store = try device.storeFile().string
                for command in ["republish", "follow"] { #expect(told.output.contains("ubcontrol store \(command) \(store)\n"), "\(told)") }
                #expect(told.output.contains("Choose one of them on each other device"), "\(told)")
            }
            #expect(wipe.status == 0, "\(wipe)")
            let resumed = try await devices[1].run("ubcontrol", "container", "resume", "org.example.notes")
            #expect(
                resumed.status == 1 && resumed.output.hasPrefix("The guard against mass deletion had not suspended org.example.notes.\n"),
                "\(resumed)")
            for device in devices {
                let line = try #require(try await status(device).facts.stores.first?.remedies.first)
                #expect(line == "ubcontrol store republish \(try device.storeFile())")
                #expect(try await run(line).status == 0)
                let asked = try await status(device)
                #expect(asked.status == 1 && asked.text.contains("the app has been asked to republish"), "\(asked)")
                #expect(try await device.list().count == 2)
            }
            for device in devices {
                #expect(try await status(device).status == 0)
                let done = try await device.run("ubcontrol", "container", "resume", "org.example.notes")
                #expect(done.status == 0 && done.output == "The guard against mass deletion had not suspended org.example.notes.\n", "\(done)")
            }
        }
    }

    @Test("right after a sign-in below a folder of Syncthing's the doctor finds no fault in .stignore, which has the rule by then")
    func stignore() async throws {
        try await withDevices(1) { devices in
            let (device, folder) = (devices[0], devices[0].root.appending("Sync"))
            try FileManager.default.createDirectory(atPath: folder.appending(".stfolder").string, withIntermediateDirectories: true)
            #expect(try await device.run("ubcontrol", "sign-in", "bob", "--containers", folder.string).status == 0)
            #expect(try String(contentsOfFile: folder.appending(".stignore").string, encoding: .utf8) == "*.nosync\n")
            let doctor = try await self.doctor(device)
            #expect(doctor.status == 0 && !doctor.output.contains(".stignore"), "\(doctor)")
            // Where the folder becomes Syncthing's later, the first container puts the rule there.
            try FileManager.default.removeItem(atPath: folder.appending(".stignore").string)
            let later = try await self.doctor(device)
            #expect(later.status == 0 && later.output.contains("the account's first container puts it there"), "\(later)")
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            #expect(try await !self.doctor(device).output.contains(".stignore"))
        }
    }
}
