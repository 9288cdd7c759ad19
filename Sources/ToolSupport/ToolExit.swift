package import ArgumentParser

/// The exit statuses of the tools, in one place: a status has one meaning in all of them.
package enum ToolExit {
    /// It failed, or there is a problem.
    package static let failure = ExitCode(1)
    /// The container is gone: it was wiped, or does not exist any more.
    package static let gone = ExitCode(3)
    /// The awaited condition was not reached in time.
    package static let timedOut = ExitCode(4)
    /// Some findings need a person.
    package static let troubles = ExitCode(5)
    /// The command line is wrong, or names something that does not exist here; EX_USAGE of sysexits.h.
    package static let usage = ExitCode.validationFailure
    /// The broker does not answer; EX_UNAVAILABLE of sysexits.h.
    package static let unavailable = ExitCode(69)

    /// The statuses, for a tool's help.
    package static let table = """
        Exit status, of every command of ubcontrol, ubwatch and ubiquityd:
          0   it is done, or all is well
          1   it could not be done, or not all is well; the reason is printed
          3   the container is gone: wiped, or not there any more
          4   the awaited condition was not reached in time
          5   something is in conflict, held, quarantined or set aside
          64  the command line is wrong or names something that is not here, or --yes is missing without a terminal
          69  the broker of file coordination does not answer, or cannot serve
        """
}

/// A valid command that is refused for a wrong or missing name: reported in one line, without usage.
package struct Refusal: Error, CustomStringConvertible {
    /// The reason and the remedy.
    package let description: String
    /// The exit status of the tool.
    package let status: ExitCode

    /// Makes a refusal.
    ///
    /// - Parameters:
    ///   - description: the reason and the remedy.
    ///   - status: the exit status of the tool.
    package init(_ description: String, status: ExitCode = ToolExit.usage) {
        self.description = description
        self.status = status
    }
}
