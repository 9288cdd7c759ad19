import BrowserDriving
import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses

extension PageTests {
    /// Requests that the server refuses.
    @Suite struct Refusals {
        /// A request of each kind, with a body where it has one.
        private static let requests = [
            "GET /", "GET \(PaneServer.notes)", "GET /events", "GET /events?container=org.example.notes",
            "GET /detail?container=org.example.notes&target=x", "GET /pane.js", "POST /actions",
        ]
        private static let body = #"{"action":"verify","container":"org.example.notes","target":"x"}"#

        private func ask(_ server: PaneServer, _ request: String, _ fields: [String: String]) async throws -> HTTPExchange {
            var fields = fields
            let isPost = request.hasPrefix("POST")
            if isPost { fields.merge(["X-Ubiquity": "1", "Content-Type": "application/json"]) { first, _ in first } }
            return try await server.ask(request, fields, body: isPost ? Self.body : "")
        }

        @Test(
            "V-03: A request without the cookie, with a wrong ticket, to another host or from another origin is refused, and gets nothing of the content"
        )
        func requests() async throws {
            try await withPane(1, ["--allow-actions"]) { _, server, _ in
                let cookie = try await server.cookie()
                let name = try #require(cookie.split(separator: "=").first)
                // With everything right there is an answer.
                let right = try await ask(server, "GET \(PaneServer.notes)", ["Cookie": cookie])
                #expect(right.status == 200 && right.body.contains("org.example.notes"), "\(right)")
                let wrong: [[String: String]] = [
                    [:], ["Cookie": "\(name)=0123456789abcdef"], ["Cookie": "\(name)="], ["Cookie": "other=\(cookie.drop { $0 != "=" }.dropFirst())"],
                    ["Cookie": cookie, "Host": "evil.example"], ["Cookie": cookie, "Host": "evil.example:\(server.port)"],
                    ["Cookie": cookie, "Host": "\(server.host).evil.example"], ["Cookie": cookie, "Host": "127.0.0.1:\(server.port)"],
                    ["Cookie": cookie, "Origin": "http://evil.example"], ["Cookie": cookie, "Origin": "null"],
                    ["Cookie": cookie, "Origin": "http://127.0.0.1:1"], ["Cookie": cookie, "Origin": "https://\(server.host)"],
                ]
                for fields in wrong {
                    for request in Self.requests {
                        let answer = try await ask(server, request, fields)
                        #expect(answer.status == 403, "\(request) \(fields): \(answer)")
                        let all = answer.head + answer.body
                        #expect(!all.contains("org.example") && !all.contains("alice") && !all.contains("const "), "\(request) \(fields): \(answer)")
                    }
                }
                let target = server.url.replacing(server.address, with: "")
                for ticket in ["/?ticket=", "/?ticket=0123456789abcdef", "\(target)0", String(target.dropLast())] {
                    let answer = try await server.ask("GET \(ticket)")
                    #expect(answer.status == 403 && !answer.head.lowercased().contains("set-cookie"), "\(ticket): \(answer)")
                }
                // Without the field that a form of another page cannot send.
                let form = try await server.ask("POST /actions", ["Cookie": cookie, "Content-Type": "text/plain"], body: Self.body)
                #expect(form.status == 403, "\(form)")
            }
        }

        @Test("V-03: A process of another user is refused", .enabled(if: geteuid() == 0))
        func stranger() async throws {
            try await withPane { _, server, _ in
                let script = """
                    import sys, urllib.request, urllib.error
                    question = urllib.request.Request(sys.argv[1], headers={"Host": sys.argv[2]})
                    try: answer = urllib.request.urlopen(question, timeout=60)
                    except urllib.error.HTTPError as error: answer = error
                    print(answer.status, answer.read(4096))
                    """
                let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", script]
                for path in ["/", PaneServer.notes, "/events"] {
                    let outcome = try await Tool.run("/usr/bin/setpriv", nobody + ["http://127.0.0.1:\(server.port)\(path)", server.host])
                    #expect(outcome.output.hasPrefix("403 ") && !outcome.output.contains("org.example"), "\(path): \(outcome)")
                }
            }
        }

        @Test("V-03: A page of another origin, in the browser that has the cookie, reads nothing, shows nothing in a frame, and changes nothing")
        func otherOrigin() async throws {
            try await withPane(1, ["--allow-actions"]) { page, server, devices in
                try await page.open(server)
                let root = devices[0].root.removingLastComponent().appending("evil")
                try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
                let frame = "<!doctype html><title>evil</title><iframe id=frame src='\(server.address)\(PaneServer.notes)'></iframe>"
                try Data(frame.utf8).write(to: URL(filePath: root.appending("index.html").string))
                try await WebServer.with(root, in: root.appending("nginx"), rules: "index index.html; default_type text/html;") { other in
                    _ = try await page.messages()
                    try await page.open(other.address + "/")
                    #expect(try await page.title == "evil")
                    let framed: String = try await page.inFrame("#frame") {
                        try await page.evaluate("return document.documentElement?.textContent ?? ''")
                    }
                    #expect(!framed.contains("org.example") && !framed.contains("Milk") && !framed.contains("alice"), "\(framed)")
                    // A frame of a refused page tells the browser's own reason, or the server's.
                    #expect(try await page.count("#frame") == 1)
                    let reading = """
                        return fetch(arguments[0], { credentials: "include" }).then((answer) => answer.text(), ({ name }) => "refused: " + name)
                        """
                    for path in ["/", PaneServer.notes, "/events", "/pane.js", "/icon.svg"] {
                        let read: String = try await page.evaluate(reading, .string(server.address + path))
                        #expect(read == "refused: TypeError", "\(path): \(read)")
                    }
                    let events: String = try await page.evaluate(
                        """
                        return new Promise((resolve) => {
                            const source = new EventSource(arguments[0], { withCredentials: true });
                            source.addEventListener("hello", () => resolve("hello"));
                            source.addEventListener("summary", () => resolve("summary"));
                            source.onerror = () => { source.close(); resolve("error"); };
                        });
                        """, .string(server.address + "/events"))
                    #expect(events == "error")
                    // The answer of this request cannot be read; that it does nothing is told by the store.
                    let store = try devices[0].storeFile()
                    for target in [store.string, "Notes", "x"] {
                        let body = #"{"action":"pause","container":"org.example.notes","target":"\#(target)"}"#
                        try await page.run(
                            """
                            return fetch(arguments[0], { method: "POST", mode: "no-cors", credentials: "include", body: arguments[1],
                                headers: { "Content-Type": "text/plain" } }).then(() => 1, () => 0)
                            """, .string(server.address + "/actions"), .string(body))
                    }
                    #expect(try await devices[0].isPaused() == false)
                }
            }
        }

        @Test("The script and the styles are files of their own, which a policy demands; the script is short")
        func policy() async throws {
            try await withPane { page, server, _ in
                let cookie = try await server.cookie()
                for path in ["/", PaneServer.notes, "/pane.js"] {
                    let answer = try await server.ask("GET \(path)", ["Cookie": cookie])
                    let policy = try #require(answer.head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-security-policy:") })
                    for rule in [
                        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
                        "frame-ancestors 'none'",
                    ] {
                        #expect(policy.contains(rule), "\(path): \(policy)")
                    }
                    #expect(!policy.contains("unsafe"), "\(path): \(policy)")
                }
                try await page.open(server)
                let inline: Int = try await page.evaluate(
                    """
                    return fetch(location.href).then((answer) => answer.text()).then((text) => {
                        const page = new DOMParser().parseFromString(text, "text/html");
                        const attributes = [...page.querySelectorAll("*")].flatMap((element) => [...element.attributes]);
                        const scripts = [...page.querySelectorAll("script")].filter((script) => !script.src || script.textContent.trim());
                        const inline = attributes.filter(({ name }) => name === "style" || name.startsWith("on"));
                        return scripts.length + inline.length + page.querySelectorAll("style").length;
                    })
                    """)
                #expect(inline == 0)
                let script = try packageText("Sources/ubwatch/Page/Files/pane.js").split(separator: "\n", omittingEmptySubsequences: false)
                #expect(script.count < 600 && script.allSatisfy { $0.count <= 150 }, "\(script.count) lines")
                #expect(!script.contains { $0.contains("innerHTML") || $0.contains("insertAdjacentHTML") || $0.contains("document.write") })
                #expect(try await page.messages().isEmpty)
            }
        }
    }
}

extension ToolDevice {
    /// Whether the exchange of the notes' store is paused.
    func isPaused() async throws -> Bool {
        struct State: Decodable { var isPaused: Bool }
        let outcome = try await Tool.run("ubcontrol", ["store", "state", storeFile().string, "--json"])
        return try JSONDecoder().decode(State.self, from: Data(outcome.output.utf8)).isPaused
    }
}
