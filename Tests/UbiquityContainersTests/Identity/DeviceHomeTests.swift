import Foundation
import SystemPackage
import Testing
import UbiquityContainers

struct DeviceHomeTests {
    @Test("S-026, U-66: the token is nil exactly while signed out, can be archived, and is equal exactly for one account")
    func token() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            #expect(try home.ubiquityIdentityToken == nil)
            try home.signIn(AccountName("alice"))
            let alice = try #require(try home.ubiquityIdentityToken)
            let archived = try JSONDecoder().decode(UbiquityIdentityToken.self, from: JSONEncoder().encode(alice))
            #expect(archived == alice)
            try home.signIn(AccountName("bob"))
            #expect(try home.ubiquityIdentityToken != alice)
            try home.signOut()
            #expect(try home.ubiquityIdentityToken == nil)
            try home.signIn(AccountName("alice"))
            // Another value of the type stands for another launch: nothing is kept in memory.
            #expect(try DeviceHome(home.path).ubiquityIdentityToken == alice)
        }
    }

    @Test("U-66: the token stays as it is while the containers' root is away, for it is read without a look at any container")
    func tokenOffline() async throws {
        try await withTemporaryDirectory { directory in
            let (home, root) = (DeviceHome(directory.appending("home")), directory.appending("root"))
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            try home.signIn(AccountName("alice"), containers: root)
            let token = try #require(try home.ubiquityIdentityToken)
            try FileManager.default.removeItem(atPath: root.string)
            #expect(try home.ubiquityIdentityToken == token)
            await #expect { try await UbiquityContainer("org.example.notes", home: home) } throws: {
                ($0 as? ContainerError)?.code == .rootUnavailable
            }
            #expect(try home.ubiquityIdentityToken == token)
        }
    }

    @Test("the home is UBIQUITY_HOME, then XDG_DATA_HOME/ubiquity, then ~/.local/share/ubiquity")
    func standardHome() throws {
        #expect(try DeviceHome.standard(environment: ["UBIQUITY_HOME": "/u", "XDG_DATA_HOME": "/x", "HOME": "/h"]).path == "/u")
        #expect(try DeviceHome.standard(environment: ["XDG_DATA_HOME": "/x", "HOME": "/h"]).path == "/x/ubiquity")
        #expect(try DeviceHome.standard(environment: ["XDG_DATA_HOME": "relative", "HOME": "/h"]).path == "/h/.local/share/ubiquity")
        #expect(throws: ContainerError.self) { try DeviceHome.standard(environment: [:]) }
    }

    @Test(
        "an account name that cannot stand in a path is refused",
        arguments: ["", "a/b", "..", ".hidden", "local", "line\nbreak", "a\u{0}b", "x.nosync", "zo\u{EB}", String(repeating: "x", count: 201)])
    func hostileAccountNames(name: String) {
        #expect { try AccountName(name) } throws: { ($0 as? ContainerError)?.code == .invalidName }
    }

    @Test("signing in to a containers root that is missing or a file changes nothing")
    func missingRoot() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            let missing = directory.appending("missing")
            #expect { try home.signIn(AccountName("alice"), containers: missing) } throws: { error in
                (error as? ContainerError)?.code == .rootUnavailable && String(describing: error).contains(missing.string)
            }
            let file = directory.appending("file")
            try Data().write(to: URL(filePath: file.string))
            #expect { try home.signIn(AccountName("alice"), containers: file) } throws: { ($0 as? ContainerError)?.code == .rootUnavailable }
            #expect(try home.account == nil)
        }
    }

    @Test("a damaged or newer account file is a clear error, and is left as it is")
    func damagedAccountFile() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending("account.json")
            for (content, code) in [("not json", ContainerError.Code.malformed), (#"{"format":2,"account":"a"}"#, .newerFormat)] {
                try Data(content.utf8).write(to: URL(filePath: file.string))
                #expect { try DeviceHome(directory).account } throws: { error in
                    (error as? ContainerError)?.code == code && (error as? ContainerError)?.path == file
                }
                #expect(try String(contentsOfFile: file.string, encoding: .utf8) == content)
            }
        }
    }
}
