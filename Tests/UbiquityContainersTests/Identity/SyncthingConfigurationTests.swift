import Foundation
import SystemPackage
import Testing
import UbiquityContainers

/// The member `syncthing` of `config.json`.
@Suite(.timeLimit(.minutes(40)))
struct SyncthingConfigurationTests {
    private func withConfiguration(_ json: String, _ body: (DeviceHome) throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory)
            try Data(json.utf8).write(to: URL(filePath: home.configurationFile.string))
            try body(home)
        }
    }

    @Test("Syncthing's address, key and certificate are read; what is unknown there is another version's, and no file names none")
    func read() async throws {
        try await withConfiguration(
            #"{"format":1,"containers":["org.example.notes"],"new":{"x":1},"syncthing":{"address":"https://h:1","key":"k","certificate":"c.pem","new":[]}}"#
        ) { (home: DeviceHome) throws in
            #expect(try home.syncthing == SyncthingConfiguration(address: "https://h:1", key: "k", certificate: "c.pem"))
            #expect(try home.configuration.containers == ["org.example.notes"])
        }
        try await withConfiguration(#"{"format":1}"#) { (home: DeviceHome) throws in #expect(try home.syncthing == nil) }
        try await withTemporaryDirectory { directory in
            let none = try DeviceHome(directory).syncthing
            #expect(none == nil)
        }
    }

    @Test(
        "garbage is refused with the file, the member and what to write, never with what stands there; containers are found all the same",
        arguments: [
            (#""secret""#, "syncthing has another type"), (#"{"key":"secret"}"#, "syncthing.address is missing"),
            (#"{"address":"http://h"}"#, "syncthing.key is missing"), (#"{"address":["secret"],"key":"k"}"#, "syncthing.address has another type"),
        ])
    func garbage(member: String, words: String) async throws {
        try await withConfiguration(#"{"format":1,"containers":["org.example.notes"],"syncthing":\#(member)}"#) { (home: DeviceHome) throws in
            #expect {
                try home.syncthing
            } throws: { error in
                let text = "\(error)"
                return (error as? ContainerError)?.code == .malformed && text.contains(home.configurationFile.string) && text.contains(words)
                    && text.contains("correct it") && !text.contains("secret")
            }
            #expect(try home.configuration.containers == ["org.example.notes"])
        }
    }

    @Test("a file of a newer version, and one that is no JSON, are refused as such")
    func whole() async throws {
        for (json, code) in [(#"{"format":2}"#, ContainerError.Code.newerFormat), ("{", .malformed)] {
            try await withConfiguration(json) { (home: DeviceHome) throws in
                #expect { try home.syncthing } throws: { ($0 as? ContainerError)?.code == code }
                #expect { try home.configuration } throws: { ($0 as? ContainerError)?.code == code }
            }
        }
    }
}
