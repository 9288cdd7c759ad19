#if canImport(UbiquityFoundation)
    import UbiquityFoundation
#else
    import Foundation
#endif

/// A program as it is written for Apple's systems; only the import differs.
@main
enum Ported {
    static let usage = """
        usage: ported present PATH [--coarse] [--unsaved TEXT] [--elsewhere] [--refuse] [--silent] [--suspended]
                  print the messages of a presenter until standard input ends; lines of it: write TEXT, answer, resume, release
               ported read PATH [--cancel]          --cancel: a line of standard input cancels the access
               ported prepare PATH... [--hold]      --hold: the accessor waits for a line of standard input
               ported write PATH TEXT [--hold] [--purpose NAME]
               ported move PATH NEW [--hold]
               ported copy PATH NEW
               ported delete PATH
               ported nested PATH OTHER [--hold]    write OTHER by another coordinator inside the accessor of PATH
               ported resolve PATH                  replace an item by its conflict version
               ported documents | query             the documents of the first container, and what a query says of them

        """

    static func main() {
        var words = Words(CommandLine.arguments.dropFirst())
        let url = words.names.dropFirst().first.map { URL(fileURLWithPath: $0) }
        do {
            switch (words.names.first, url) {
            case ("present", let url?): present(url, words)
            case ("documents", nil): say(try QueryReporter.documents().path)
            case ("query", nil): QueryReporter().run()
            case (let command?, let url?):
                words.names.removeFirst()
                guard try Accesses(words).run(command, url) else { fallthrough }
            default:
                complain(usage)
                exit(64)
            }
        } catch {
            let error = error as NSError
            complain("\(error.domain) \(error.code): \(error.localizedDescription)\n")
            exit(1)
        }
    }

    private static func present(_ url: URL, _ words: Words) {
        guard !words.has("--coarse") else {
            let presenter = CoarseReporter(url)
            NSFileCoordinator.addFilePresenter(presenter)
            say("presenting")
            while readLine() != nil {}
            return NSFileCoordinator.removeFilePresenter(presenter)
        }
        var reporter: Reporter? = Reporter(url, words)
        if let reporter { NSFileCoordinator.addFilePresenter(reporter) }
        say("presenting")
        while let line = readLine() {
            switch line.split(separator: " ", maxSplits: 1).map(String.init) {
            case ["resume"]: reporter?.presentedItemOperationQueue.isSuspended = false
            case ["answer"]:
                say("answering")
                reporter?.answer()
            case ["release"]:
                reporter = nil
                say("released")
            case let order where order.first == "write" && order.count == 2:
                reporter?.write(order[1])
                say("wrote")
            default: complain(usage)
            }
        }
        if let reporter { NSFileCoordinator.removeFilePresenter(reporter) }
    }
}

/// The words of a command: names, and options.
struct Words {
    var names: [String] = []
    var options: [String: String] = [:]

    init(_ arguments: ArraySlice<String>) {
        var rest = arguments
        while let word = rest.popFirst() {
            if !word.hasPrefix("--") { names.append(word) } else { options[word] = ["--unsaved", "--purpose"].contains(word) ? rest.popFirst() : "" }
        }
    }

    func has(_ option: String) -> Bool { options[option] != nil }
}

func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
func complain(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
